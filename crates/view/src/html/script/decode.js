// From the page's own data blocks to numbers: base64, zlib, variable-length integers. The other side is `codec.rs`.

/**
 * The bytes of a block: base64 of a zlib stream, which the browser undoes.
 * @param {string} base64
 */
export async function bytesOf(base64) {
  const raw = atob(base64);
  const packed = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) packed[k] = raw.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers one after the other. They stay below 2^53, so a double holds each. */
export class Numbers {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 0x80) return byte;
    let number = byte & 0x7f;
    let one = 0x80;
    do {
      byte = this.bytes[this.at++];
      number += (byte & 0x7f) * one;
      one *= 0x80;
    } while (byte >= 0x80);
    return number;
  }

  signed() {
    const number = this.next();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }
}
