//! Numbered migrations: an old collection is brought up to date, a newer one is refused.
//!
//! The schema's number is SQLite's `user_version`; each step and its number are one transaction.

use std::path::Path;

use model::StoreError;

use crate::sql::{Sql, store_error};

/// Says to `file` and to us that this database is a Harvestman collection ("Hvst").
pub(crate) const APPLICATION_ID: i64 = 0x4876_7374;

const STEPS: [&str; 6] = [
    include_str!("schema/sqlite/0001_collection.sql"),
    include_str!("schema/sqlite/0002_names.sql"),
    include_str!("schema/sqlite/0003_site_fields.sql"),
    include_str!("schema/sqlite/0004_lost.sql"),
    include_str!("schema/sqlite/0005_volumes.sql"),
    include_str!("schema/sqlite/0006_full_for.sql"),
];

/// The first schema with a register of volumes.
pub(crate) const WITH_VOLUMES: i64 = 5;

pub(crate) const SCHEMA: i64 = STEPS.len() as i64;

pub(crate) fn migrate(connection: &Sql, path: &Path) -> Result<(), StoreError> {
    let found = schema_of(connection, path)?;
    for (step, sql) in (1..).zip(STEPS).filter(|(step, _)| *step > found) {
        connection.migrate(sql, APPLICATION_ID, step).map_err(|e| store_error(path, e))?;
    }
    Ok(())
}

/// The schema's number, 0 for an empty file; refuses what is not ours or from the future.
pub(crate) fn schema_of(connection: &Sql, path: &Path) -> Result<i64, StoreError> {
    let read = || Ok((connection.schema()?, connection.application()?, connection.objects()?));
    let (found, application, objects) = read().map_err(|e| store_error(path, e))?;
    if application != APPLICATION_ID && objects > 0 {
        let detail = "it is a database of another program".to_owned();
        return Err(StoreError::Corrupt { path: path.to_owned(), detail });
    }
    if found > SCHEMA {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: SCHEMA });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Sql {
        crate::sql::open_in_memory().unwrap()
    }

    #[test]
    fn migrating_twice_changes_nothing() {
        let connection = memory();
        migrate(&connection, Path::new("x")).unwrap();
        migrate(&connection, Path::new("x")).unwrap();
        assert_eq!(schema_of(&connection, Path::new("x")).unwrap(), SCHEMA);
    }

    #[test]
    fn names_of_the_first_version_become_those_of_today() {
        let connection = memory();
        let first = STEPS[0];
        connection
            .execute_batch(&format!(
                "{first}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; \
                 UPDATE spiders SET settings = '{{\"gather.text\":\"false\",\"crawl.pages\":\"9\"}}'; \
                 INSERT INTO hazards (site, hazard, what, measure, count, examples, first, last) \
                 VALUES ('a.test', 'tls-trouble', '', 'mended', 1, '[]', 0, 0)"
            ))
            .unwrap();
        migrate(&connection, Path::new("x")).unwrap();
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<String>(0)).unwrap();
        let settings = one("SELECT settings FROM spiders");
        assert_eq!(settings, r#"{"parse.text":"false","crawl.pages":"9"}"#);
        assert_eq!(one("SELECT hazard || ' ' || measure FROM hazards"), "tls-error corrected");
    }

    #[test]
    fn sites_of_an_older_collection_are_counted() {
        let connection = memory();
        for step in &STEPS[..2] {
            connection.execute_batch(step).unwrap();
        }
        let id = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 2;");
        connection.execute_batch(&id).unwrap();
        connection
            .execute_batch(
                "INSERT INTO sites (id, key, domain) VALUES (1, 'a.example', 'a.example'); \
                 INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, turn) \
                 VALUES (1, 1, 'http://a.example/?x', 1, 1, 0, 0, 0, 0, 1), \
                        (1, 2, 'http://a.example/y', 1, 0, 0, 0, 0, 0, 0)",
            )
            .unwrap();
        migrate(&connection, Path::new("x")).unwrap();
        let counts: (i64, i64) = connection
            .query_row("SELECT waiting, dynamic FROM sites", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(counts, (1, 1));
    }

    #[test]
    fn a_newer_schema_is_refused_with_both_numbers() {
        let connection = memory();
        migrate(&connection, Path::new("x")).unwrap();
        connection.execute_batch("PRAGMA user_version = 99").unwrap();
        let error = migrate(&connection, Path::new("x")).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, known: SCHEMA, .. }), "{error}");
    }

    #[test]
    fn a_database_of_another_program_is_refused_and_left_alone() {
        let connection = memory();
        connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert!(matches!(
            migrate(&connection, Path::new("x")).unwrap_err(),
            StoreError::Corrupt { .. }
        ));
        assert_eq!(connection.objects().unwrap(), 1);
    }
}
