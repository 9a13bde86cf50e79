/** Bytes as texts write them, and SHA-256. Computed here, by the platform's WebCrypto. */

const utf8 = new TextEncoder();

export type Bytes = Uint8Array<ArrayBuffer>;

/** A text in UTF-8. */
export function bytesOf(text: string): Bytes {
  return utf8.encode(text) as Bytes;
}

/** Bytes of hexadecimal digits; `undefined` for any other text. */
export function fromHex(text: string): Bytes | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/** Bytes of base64 with padding; `undefined` for any other text. */
export function fromBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  // Bits behind the last byte have to be zero: one value has one text.
  return btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** SHA-256 of parts put together. */
export async function sha256(...parts: Uint8Array[]): Promise<Bytes> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}
