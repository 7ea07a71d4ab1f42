//! Git's index: the list of tracked paths, in versions 2, 3 and 4.

/// What is wanted of an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Index {
    pub paths: Vec<Vec<u8>>,
    /// The id of the index that this one only adds to.
    pub shared: Option<String>,
}

/// Bytes of an entry before its object id: times, device, inode, mode, owner, size.
const STAT: usize = 40;
/// In the flags: two more bytes follow.
const EXTENDED: u16 = 0x4000;

/// Nothing if it is no index, or a damaged one. `id_length` is that of the repository's object ids, in bytes.
pub fn parse(bytes: &[u8], id_length: usize) -> Option<Index> {
    let mut rest = Bytes { bytes, at: 0 };
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = rest.number()?;
    let mut index = Index::default();
    let mut before = Vec::new();
    for _ in 0..count {
        let start = rest.at;
        rest.take(STAT + id_length)?;
        let flags = u16::from_be_bytes(rest.take(2)?.try_into().ok()?);
        if flags & EXTENDED != 0 {
            rest.take(2)?;
        }
        if version == 4 {
            // The path before, cut by so many bytes, and what follows it.
            let keep = before.len().checked_sub(rest.offset()?)?;
            before.truncate(keep);
            before.extend_from_slice(rest.until_nul()?);
        } else {
            before = rest.until_nul()?.to_vec();
            let padded = (rest.at - start).next_multiple_of(8);
            rest.take(start + padded - rest.at)?;
        }
        // An entry without a name stands for one of the shared index; a folder for all that a sparse checkout left out.
        if !before.is_empty() && !before.ends_with(b"/") {
            index.paths.push(before.clone());
        }
    }
    index.shared = shared(&mut rest, id_length);
    Some(index)
}

/// The extensions behind the entries; the checksum at the end is no extension.
fn shared(rest: &mut Bytes, id_length: usize) -> Option<String> {
    while rest.bytes.len() - rest.at > id_length + 8 {
        let name = rest.take(4)?;
        let size = usize::try_from(rest.number()?).ok()?;
        let body = rest.take(size)?;
        if name == b"link" {
            let id = body.get(..id_length)?;
            let is_set = id.iter().any(|byte| *byte != 0);
            return is_set.then(|| id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
    None
}

struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Everything up to a zero, which is passed over.
    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let length = memchr::memchr(0, self.bytes.get(self.at..)?)?;
        let taken = self.take(length)?;
        self.at += 1;
        Some(taken)
    }

    /// A number of variable length, as in the offsets of git's packs.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        for step in 0..8 {
            let byte = self.take(1)?[0];
            value = (value << 7) + usize::from(byte & 0x7f) + if step > 0 { 1 << 7 } else { 0 };
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}
