/** The messages that a server has written to its standard output. */

import type { ReadBuffer } from '@modelcontextprotocol/client'
import type { Reading } from './bounded-response.ts'
import type { Sdk } from './sdk.ts'
import { readableMessage } from './tolerance.ts'

/**
 * In the place of the client's buffer, which copies all that it has for each piece: a long message would cost the square of its length. Progress is
 * left out, as in a {@link boundedResponse}.
 */
export class LineBuffer implements Pick<ReadBuffer, 'append' | 'readMessage' | 'clear'> {
  readonly #sdk: Sdk
  readonly #reading: Reading
  /** Of a line that has no end yet. */
  #pieces: Buffer[] = []
  /** Of `#pieces`. */
  #bytes = 0
  #lines: string[] = []
  /** The index of the next one that is read. */
  #next = 0

  constructor(sdk: Sdk, reading: Reading) {
    this.#sdk = sdk
    this.#reading = reading
  }

  /** @throws {Error} A message is too long. */
  append(chunk: Buffer): void {
    const end = chunk.lastIndexOf(END)
    if (end >= 0) this.#addLines(chunk.subarray(0, end))
    this.#pieces.push(chunk.subarray(end + 1))
    this.#bytes += chunk.length - end - 1
    this.#check(this.#bytes)
  }

  /** The next whole message, or null. Lines that are not JSON are left out: servers print there. */
  readMessage(): ReturnType<ReadBuffer['readMessage']> {
    while (this.#next < this.#lines.length) {
      const message = parsed(this.#lines[this.#next++] ?? '')
      if (message !== undefined && !this.#reading.takes(message))
        return this.#sdk.parseJSONRPCMessage(readableMessage(message))
    }
    return null
  }

  clear(): void {
    this.#pieces = []
    this.#bytes = 0
    this.#lines = []
    this.#next = 0
  }

  /** Lines without the end of the last one. They are decoded together: a server may send very many short ones. */
  #addLines(piece: Buffer): void {
    const whole = Buffer.concat([...this.#pieces, piece])
    if (whole.length > this.#reading.messageBytes) this.#checkLines(whole)
    this.#lines = [...this.#lines.slice(this.#next), ...whole.toString().split(END)]
    this.#next = 0
    this.#pieces = []
    this.#bytes = 0
  }

  #checkLines(whole: Buffer): void {
    let begin = 0
    for (let end = whole.indexOf(END); end >= 0; end = whole.indexOf(END, begin)) {
      this.#check(end - begin)
      begin = end + 1
    }
    this.#check(whole.length - begin)
  }

  #check(bytes: number): void {
    const { messageBytes } = this.#reading
    if (bytes > messageBytes) throw new Error(`a message has more than ${messageBytes} bytes`)
  }
}

const END = '\n'

/** Some servers on Windows begin with a byte order mark. */
const MARK = '\uFEFF'

function parsed(line: string): unknown {
  try {
    return JSON.parse(line.startsWith(MARK) ? line.slice(1) : line)
  } catch {
    return undefined
  }
}
