//! Groups the records of one of our volumes into pairs: a request and the response or revisit behind it.

use std::io::BufRead;

use super::reader::{ReadError, Record, WarcReader};

#[derive(Debug)]
pub struct Pair {
    /// Missing in volumes of other writers.
    pub request: Option<Record>,
    /// The response or revisit.
    pub response: Record,
}

/// An iterator over the pairs; records that belong to none (warcinfo …) are passed over.
pub struct Pairs<R> {
    reader: WarcReader<R>,
    /// A request whose response has not been read.
    request: Option<Record>,
    whole_to: u64,
    records: u64,
}

impl Pair {
    pub fn start(&self) -> u64 {
        self.request.as_ref().map_or(self.response.offset, |request| request.offset)
    }
}

impl<R: BufRead> Pairs<R> {
    /// `input` stands at `offset` of its file.
    pub fn starting_at(input: R, offset: u64) -> Pairs<R> {
        Pairs::of(WarcReader::starting_at(input, offset), offset)
    }

    /// `reader` stands at `offset` of its file.
    pub(super) fn of(reader: WarcReader<R>, offset: u64) -> Pairs<R> {
        Pairs { reader, request: None, whole_to: offset, records: 0 }
    }

    /// Behind the last whole pair, or other whole record: what lies from here on is not whole (yet).
    pub fn whole_to(&self) -> u64 {
        self.whole_to
    }

    /// Whole records read so far, warcinfo left out.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn answers_request(&self, response: &Record) -> bool {
        let Some(request) = &self.request else { return false };
        response.field("WARC-Concurrent-To") == request.field("WARC-Record-ID")
    }
}

impl<R: BufRead> Iterator for Pairs<R> {
    type Item = Result<Pair, ReadError>;

    fn next(&mut self) -> Option<Result<Pair, ReadError>> {
        loop {
            let record = match self.reader.next()? {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
            match record.kind() {
                "request" => self.request = Some(record),
                "response" | "revisit" => {
                    self.records += 1;
                    self.whole_to = record.end();
                    let belongs = self.answers_request(&record);
                    let request = self.request.take().filter(|_| belongs);
                    return Some(Ok(Pair { request, response: record }));
                }
                kind => {
                    self.records += u64::from(kind != "warcinfo");
                    self.whole_to = record.end();
                    self.request = None;
                }
            }
        }
    }
}
