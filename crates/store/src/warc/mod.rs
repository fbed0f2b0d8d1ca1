//! WARC volumes: records, writer, reader, recovery.
