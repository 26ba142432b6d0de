//! HTTP/1.1 over one kept-alive connection: sends requests and reads whole answers.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Far longer than any answer takes: a server silent for this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer that arrived complete.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// The header `Sequence`.
    pub sequence: u64,
    pub body: Value,
}

/// A connection used for many requests.
pub struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { address: address.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sends a request and waits. After an error it is unknown whether the request was carried out.
    pub fn ask(
        &mut self,
        (method, path): (&str, &str),
        key: &str,
        body: Option<&Value>,
    ) -> io::Result<Reply> {
        let body = body.map_or_else(String::new, Value::to_string);
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.reply()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut status = status.ok_or_else(|| Error::new(ErrorKind::InvalidData, first))?;
        let (mut sequence, mut length, mut chunked) = (0, 0, false);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            let number = || value.trim().parse::<u64>().unwrap_or(0);
            match name.to_ascii_lowercase().as_str() {
                "sequence" => sequence = number(),
                "content-length" => length = number(),
                "transfer-encoding" => chunked = true,
                _ => {}
            }
        }
        let mut body = Vec::new();
        if chunked {
            while self.chunk(&mut body)? {}
        } else {
            self.take(length, &mut body)?;
        }
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        if status == 204 {
            status = 200;
        }
        Ok(Reply { status, sequence, body })
    }

    /// Reads a chunk of a long list; false if it was the last.
    fn chunk(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        let size = u64::from_str_radix(&self.line()?, 16);
        let size = size.map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
        self.take(size, body)?;
        self.line()?;
        Ok(size > 0)
    }

    fn take(&mut self, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
        let came = self.stream.by_ref().take(length).read_to_end(body)?;
        if came as u64 == length { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// A line of the head without its line end; a truncated line is an error.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}
