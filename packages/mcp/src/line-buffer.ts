/** The messages that a server has written to its standard output. */

import type { ReadBuffer } from '@modelcontextprotocol/client'
import type { Reading } from './bounded-response.ts'
import type { Sdk } from './sdk.ts'

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
    if (this.#next === this.#lines.length) this.#forgetLines()
    let begin = 0
    for (let end = chunk.indexOf(END); end >= 0; end = chunk.indexOf(END, begin)) {
      this.#add(chunk.subarray(begin, end))
      this.#lines.push(Buffer.concat(this.#pieces).toString())
      this.#pieces = []
      this.#bytes = 0
      begin = end + 1
    }
    this.#add(chunk.subarray(begin))
  }

  /** The next whole message, or null. Lines that are not JSON are left out: servers print there. */
  readMessage(): ReturnType<ReadBuffer['readMessage']> {
    while (this.#next < this.#lines.length) {
      const message = parsed(this.#lines[this.#next++] ?? '')
      if (message !== undefined && !this.#reading.takes(message)) return this.#sdk.parseJSONRPCMessage(message)
    }
    return null
  }

  clear(): void {
    this.#pieces = []
    this.#bytes = 0
    this.#forgetLines()
  }

  #forgetLines(): void {
    this.#lines = []
    this.#next = 0
  }

  #add(piece: Buffer): void {
    const { messageBytes } = this.#reading
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes > messageBytes) throw new Error(`a message has more than ${messageBytes} bytes`)
  }
}

const END = '\n'

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
