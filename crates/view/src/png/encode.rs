//! Pixels as a file: with a palette where its colours are few, which is half the size.

use crate::Error;
use std::io::Write;

/// The colours of a picture that has no more than a palette holds, and which each pixel has: half the size of a file of three channels. A pixel
/// has so many bytes, of which the first three are its colour.
pub(super) fn indexed<const BYTES: usize>(pixels: &[u8]) -> Option<(Vec<[u8; 3]>, Vec<u8>)> {
    let mut colours: Vec<[u8; 3]> = Vec::new();
    let mut indices = Vec::with_capacity(pixels.len() / BYTES);
    // Where colours stand: a hash table with room between them (Fibonacci hashing: Knuth, TAOCP 3, section 6.4).
    let mut known = [None::<u8>; 1024];
    let mut last = 0;
    for pixel in pixels.as_chunks::<BYTES>().0 {
        let colour = [pixel[0], pixel[1], pixel[2]];
        // Most pixels have the colour of the one before.
        if colours.get(last) != Some(&colour) {
            let bits = u32::from_be_bytes([0, colour[0], colour[1], colour[2]]);
            let mut slot = (bits.wrapping_mul(0x9e37_79b9) >> 22) as usize;
            last = loop {
                match known[slot] {
                    Some(index) if colours[usize::from(index)] == colour => {
                        break usize::from(index);
                    }
                    Some(_) => slot = (slot + 1) % known.len(),
                    None if colours.len() == 256 => return None,
                    None => {
                        known[slot] = Some(colours.len() as u8);
                        colours.push(colour);
                        break colours.len() - 1;
                    }
                }
            };
        }
        indices.push(last as u8);
    }
    Some((colours, indices))
}

/// Writes indices into a palette.
pub(super) fn encode_indexed(
    indices: &[u8],
    colours: Vec<[u8; 3]>,
    width: u32,
    height: u32,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut encoder = ::png::Encoder::new(out, width, height);
    encoder.set_color(::png::ColorType::Indexed);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_palette(colours.concat());
    // Indices that are near to each other are no similar colours.
    encoder.set_filter(::png::Filter::NoFilter);
    // An eighth larger than at level 6, in half of the time.
    encoder.set_deflate_compression(::png::DeflateCompression::Level(4));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(indices)?;
    writer.finish()?;
    Ok(())
}

/// Writes channels of eight bits.
pub(super) fn encode(
    bytes: &[u8],
    width: u32,
    height: u32,
    colour: ::png::ColorType,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut encoder = ::png::Encoder::new(out, width, height);
    encoder.set_color(colour);
    encoder.set_depth(::png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    writer.finish()?;
    Ok(())
}
