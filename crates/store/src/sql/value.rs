//! Values on their way into a statement and out of a row.

use super::{Error, Result, Statement};

/// A value of one of the five kinds that every engine has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// The same, owned: for statements that are composed.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// What can be bound to a parameter.
pub trait ToSql {
    fn value(&self) -> ValueRef<'_>;
}

/// What can be read from a column.
pub trait FromSql: Sized {
    /// `None`: it is of another kind or does not fit.
    fn read(value: ValueRef<'_>) -> Option<Self>;
}

/// The values of all parameters of a statement, in their order.
pub trait Params {
    fn bind(self, statement: &mut Statement<'_>) -> Result<()>;
}

impl Params for [ValueRef<'static>; 0] {
    #[inline]
    fn bind(self, statement: &mut Statement<'_>) -> Result<()> {
        statement.has_parameters(0)
    }
}

impl<T: ToSql> Params for &[T] {
    #[inline]
    fn bind(self, statement: &mut Statement<'_>) -> Result<()> {
        statement.has_parameters(self.len())?;
        for (at, value) in (1..).zip(self) {
            statement.bind(at, value)?;
        }
        Ok(())
    }
}

macro_rules! arrays {
    ($($length:literal)+) => {
        $(impl<T: ToSql> Params for [T; $length] {
            #[inline]
            fn bind(self, statement: &mut Statement<'_>) -> Result<()> {
                self.as_slice().bind(statement)
            }
        })+
    };
}
// One by one, so that `[]` can only be the array above.
arrays!(1 2 3 4);

impl ToSql for ValueRef<'_> {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        *self
    }
}

impl ToSql for Value {
    fn value(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }
    }
}

macro_rules! integers {
    ($($number:ty)+) => {
        $(impl ToSql for $number {
            #[inline]
            fn value(&self) -> ValueRef<'_> {
                ValueRef::Integer(i64::from(*self))
            }
        }

        impl FromSql for $number {
            #[inline]
            fn read(value: ValueRef<'_>) -> Option<$number> {
                match value {
                    ValueRef::Integer(number) => <$number>::try_from(number).ok(),
                    _ => None,
                }
            }
        })+
    };
}
integers!(i64 i32 u32 u16 u8);

impl ToSql for bool {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Integer(i64::from(*self))
    }
}

impl FromSql for bool {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<bool> {
        match value {
            ValueRef::Integer(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl ToSql for f64 {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Real(*self)
    }
}

impl FromSql for f64 {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<f64> {
        match value {
            ValueRef::Real(number) => Some(number),
            // SQLite keeps a whole number as such.
            ValueRef::Integer(number) => Some(number as f64),
            _ => None,
        }
    }
}

impl ToSql for f32 {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Real(f64::from(*self))
    }
}

impl FromSql for f32 {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<f32> {
        f64::read(value).map(|number| number as f32)
    }
}

impl ToSql for str {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl ToSql for String {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl FromSql for String {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<String> {
        match value {
            ValueRef::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl ToSql for [u8] {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl<const N: usize> ToSql for [u8; N] {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl<const N: usize> FromSql for [u8; N] {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<[u8; N]> {
        match value {
            ValueRef::Blob(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl ToSql for Vec<u8> {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl FromSql for Vec<u8> {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<Vec<u8>> {
        match value {
            ValueRef::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        (**self).value()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    #[inline]
    fn value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, T::value)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    #[inline]
    fn read(value: ValueRef<'_>) -> Option<Option<T>> {
        match value {
            ValueRef::Null => Some(None),
            value => T::read(value).map(Some),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl FromSql for Value {
    fn read(value: ValueRef<'_>) -> Option<Value> {
        Some(match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => Value::Text(text.to_owned()),
            ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
        })
    }
}

/// What to say of a column that holds something else than was asked for.
#[cold]
pub(super) fn unfit(column: usize, value: ValueRef<'_>) -> Error {
    let found = match value {
        ValueRef::Null => "nothing".to_owned(),
        ValueRef::Integer(number) => format!("the number {number}"),
        ValueRef::Real(number) => format!("the number {number}"),
        ValueRef::Text(_) => "a text".to_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    Error::value(column, format!("it holds {found}, which does not belong there"))
}
