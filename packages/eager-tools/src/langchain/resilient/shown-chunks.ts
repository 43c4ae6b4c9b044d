/**
 * What a reader of several attempts gets: text and reasoning at once, joined where it broke off, and everything else when
 * its attempt has ended well. The message that follows from all chunks is that of the attempt that stands.
 */

import { AIMessageChunk, mergeUsageMetadata, type UsageMetadata } from '@langchain/core/messages'
import type { Shown } from '../../resilient/joined-events.ts'
import { ShownText } from '../../resilient/shown-text.ts'
import { isOutput, isText, withoutText } from './chunks.ts'

/** By the last chunk of a response whose reader has chunks of several attempts: the whole message. */
const wholes: WeakMap<object, AIMessageChunk> = new WeakMap()

export class ShownChunks implements Shown<AIMessageChunk> {
  characters = 0
  readonly #hold: boolean
  #attempt = 1
  /** What the reader has. Its id is that of the message to the reader. */
  #text = new ShownText()
  #id: string | undefined
  /** Whether the reader has something of an earlier attempt. */
  #isLater = false
  #hasShown = false
  /** Whether chunks wait until the attempt stands. */
  #isHolding: boolean
  #held: AIMessageChunk[] = []
  /** No content, in the form of the present attempt. */
  #empty: '' | [] = ''
  /** What the present attempt has written. */
  #written: AIMessageChunk | undefined
  /** The sum of what failed attempts have reported, and how many have. */
  #usage: UsageMetadata | undefined
  #reports = 0

  /** `hold`: nothing is shown before an attempt stands. */
  constructor(hold: boolean) {
    this.#hold = hold
    this.#isHolding = hold
  }

  *take(message: AIMessageChunk): Iterable<AIMessageChunk> {
    if (this.#isLater) {
      this.#written = this.#written?.concat(message) ?? message
      yield* this.#joined(message)
      return
    }
    this.#empty = typeof message.content === 'string' ? '' : []
    this.#isHolding ||= !isText(message)
    this.#held.push(message)
    // Nothing of a response that fails before it says something is shown.
    if (!this.#isHolding && (this.#hasShown || isOutput(message))) yield* this.#show()
  }

  *stand(): Iterable<AIMessageChunk> {
    if (!this.#isLater) {
      yield* this.#held.splice(0)
      if (this.#attempt > 1) {
        const note = new AIMessageChunk({ content: this.#empty, response_metadata: { meanwhile: this.#meanwhile } })
        yield Object.assign(note, this.#usage && { usage_metadata: this.#usage })
      }
      return
    }
    if (!this.#text.isWhole) yield* this.#fork(this.#text.written)
    if (!this.#written) return
    Object.assign(this.#written.response_metadata, { meanwhile: this.#meanwhile })
    if (this.#usage)
      Object.assign(this.#written, { usage_metadata: mergeUsageMetadata(this.#written.usage_metadata, this.#usage) })
    const last = withoutText(this.#written)
    wholes.set(last, this.#written)
    yield last
  }

  /** The present attempt has reported its usage, and does not count. */
  reported(usage: UsageMetadata): void {
    this.#usage = mergeUsageMetadata(this.#usage, usage)
    this.#reports++
  }

  again(): void {
    this.#attempt++
    this.#isLater = this.#hasShown
    this.#isHolding = this.#hold
    this.#held = []
    this.#written = undefined
    this.#text.again()
  }

  /** A response that breaks off reports no usage, and no number is invented for it. */
  get #meanwhile() {
    return { attempts: this.#attempt, unknownUsage: this.#attempt - 1 - this.#reports }
  }

  *#show(): Iterable<AIMessageChunk> {
    for (const message of this.#held.splice(0)) {
      this.#text.add(message.text)
      this.characters += message.text.length
      this.#id ??= message.id
      if (!this.#hasShown) becomesWhole(message)
      this.#hasShown = true
      yield message
    }
  }

  /** Reasoning of a later attempt is in its message, and not shown again. */
  *#joined({ text }: AIMessageChunk): Iterable<AIMessageChunk> {
    const { written } = this.#text
    const fresh = this.#text.add(text)
    if (fresh === undefined) yield* this.#fork(written + text)
    else if (fresh) yield this.#said(fresh)
  }

  /** The attempt has other text than the reader: all that it has written follows. */
  *#fork(written: string): Iterable<AIMessageChunk> {
    this.#text = new ShownText()
    this.#text.add(written)
    if (written) yield this.#said(written)
  }

  #said(content: string): AIMessageChunk {
    this.characters += content.length
    return new AIMessageChunk({ content, ...(this.#id !== undefined && { id: this.#id }) })
  }
}

/** What follows from this chunk and those after it is the whole message, if the last one has one. */
function becomesWhole(message: AIMessageChunk): AIMessageChunk {
  const { concat } = message
  const joined = (chunk: AIMessageChunk): AIMessageChunk => {
    const whole = wholes.get(chunk)
    if (!whole) return becomesWhole(concat.call(message, chunk))
    if (whole.id === undefined) whole._updateId(message.id)
    return whole
  }
  // Not enumerable, and no subclass: the message may be stored.
  return Object.defineProperty(message, 'concat', { value: joined, configurable: true, writable: true })
}
