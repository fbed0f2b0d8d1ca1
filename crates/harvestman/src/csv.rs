//! Tables for spreadsheets: RFC 4180, and no cell that a spreadsheet takes for a formula.

use std::borrow::Cow;

use model::printable;

use config::failure::Failure;

/// Appends a line of cells.
pub fn write_row<'a>(text: &mut String, cells: impl IntoIterator<Item = Cow<'a, str>>) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write_cell(text, &cell);
    }
    text.push_str("\r\n");
}

/// `--csv` and `--json` both want standard output.
pub fn not_with_json(csv: bool, json: bool) -> Result<(), Failure> {
    match csv && json {
        false => Ok(()),
        true => Err(Failure::usage(
            "--csv and --json both want standard output",
            "leave out one of them",
        )),
    }
}

/// Text of the web may begin like a formula: with a mark before it, a spreadsheet shows it and runs nothing.
fn write_cell(text: &mut String, cell: &str) {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = printable(cell);
    let quoted = cell.contains(['"', ',', '\n', '\r']);
    if quoted {
        text.push('"');
    }
    if formula {
        text.push('\'');
    }
    match quoted {
        true => text.push_str(&cell.replace('"', "\"\"")),
        false => text.push_str(&cell),
    }
    if quoted {
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> String {
        let mut text = String::new();
        write_row(&mut text, cells.iter().map(|cell| Cow::Borrowed(*cell)));
        text
    }

    #[test]
    fn cells_are_quoted_where_rfc_4180_asks_for_it() {
        assert_eq!(row(&["a", "b c", "", "ü"]), "a,b c,,ü\r\n");
        assert_eq!(row(&["a,b", "say \"so\""]), "\"a,b\",\"say \"\"so\"\"\"\r\n");
    }

    #[test]
    fn no_cell_is_a_formula_and_none_drives_a_terminal() {
        assert_eq!(row(&["=1+1", "+1", "-1", "@x", "\tx"]), "'=1+1,'+1,'-1,'@x,'\\tx\r\n");
        assert_eq!(row(&["=A(1,2)"]), "\"'=A(1,2)\"\r\n");
        assert_eq!(row(&["a\u{1b}[2J"]), "a\\u{1b}[2J\r\n");
    }
}
