/**
 * What a reader of several attempts gets: text at once, joined where it broke off; the other events of the first attempt
 * that has any at once up to its first call, and all others when their attempt has ended well.
 */

import type { StreamEvent, Usage } from '@openai/agents'
import type { Shown } from '../../resilient/joined-events.ts'
import { ShownText } from '../../resilient/shown-text.ts'
import type { RawEvent } from '../raw-event.ts'
import { countedUsage, usageOf } from './limited-model.ts'

type TextDelta = Extract<StreamEvent, { readonly type: 'output_text_delta' }>
type Done = Extract<StreamEvent, { readonly type: 'response_done' }>

/** A text that the reader has. */
interface Block {
  readonly text: ShownText
  /** The id of its item, as the reader has it. */
  readonly id: string | undefined
}

export class ShownEvents implements Shown<StreamEvent> {
  characters = 0
  readonly #hold: boolean
  /** What the reader has and an attempt may continue, in the order in which it began. */
  readonly #blocks: Block[] = []
  #attempt = 1
  /** Those of failed attempts. */
  readonly #usages: Usage[] = []
  #isStarted = false
  /** Whether the reader has events other than text. */
  #hasOthers = false
  #isDone = false
  /** Whether events other than text wait. */
  #isHolding: boolean
  #held: StreamEvent[] = []
  /** The blocks of the present attempt, by the id of their item. */
  readonly #open: Map<string | undefined, Block> = new Map()

  /** `hold`: nothing is shown before an attempt stands. */
  constructor(hold: boolean) {
    this.#hold = hold
    this.#isHolding = hold
  }

  *take(event: StreamEvent): Iterable<StreamEvent> {
    if (this.#isDone) yield event
    else if (event.type === 'response_done') yield* this.#done(event)
    else if (event.type === 'response_started') yield* this.#started(event)
    else if (event.type === 'output_text_delta' && !this.#hold) yield* this.#text(event)
    else {
      this.#isHolding ||= event.type === 'model' && hasCall(event.event)
      if (this.#isHolding) this.#held.push(event)
      else {
        this.#hasOthers = true
        yield event
      }
    }
  }

  /** The end of the response has shown everything. */
  stand(): Iterable<StreamEvent> {
    return []
  }

  again(error: unknown): void {
    this.#attempt++
    const usage = usageOf(error)
    if (usage) this.#usages.push(usage)
    this.#isHolding = this.#hold || this.#hasOthers
    this.#held = []
    this.#open.clear()
    for (const { text } of this.#blocks) text.again()
  }

  *#started(event: StreamEvent): Iterable<StreamEvent> {
    if (!this.#isStarted) yield event
    this.#isStarted = true
  }

  *#done(event: Done): Iterable<StreamEvent> {
    this.#isDone = true
    yield* this.#held.splice(0)
    for (const [id, { text }] of this.#open) if (!text.isWhole) yield* this.#fork(id, text.written)
    if (this.#attempt === 1) {
      yield event
      return
    }
    const { response } = event
    // A response that breaks off reports no usage, and no number is invented for it.
    const meanwhile = { attempts: this.#attempt, unknownUsage: this.#attempt - 1 - this.#usages.length }
    const usage = countedUsage(response.usage)
    for (const one of this.#usages) usage.add(one)
    yield { ...event, response: { ...response, usage, providerData: { ...response.providerData, meanwhile } } }
  }

  *#text(event: TextDelta): Iterable<StreamEvent> {
    const { itemId, delta, ...rest } = event
    const { id, text } = this.#open.get(itemId) ?? this.#begin(itemId)
    const { written } = text
    const fresh = text.add(delta)
    if (fresh === undefined) yield* this.#fork(itemId, written + delta)
    // The reader knows what continues a text under the id of its beginning.
    else if (fresh) yield this.#show({ ...rest, delta: fresh, ...(id !== undefined && { itemId: id }) })
  }

  #begin(id: string | undefined): Block {
    const known = this.#blocks[this.#open.size]
    const block = known ?? { text: new ShownText(), id }
    if (!known) this.#blocks.push(block)
    this.#open.set(id, block)
    return block
  }

  /** The attempt has other text than the reader: all that it has written in this item follows. */
  *#fork(id: string | undefined, written: string): Iterable<StreamEvent> {
    this.#blocks.splice([...this.#open.keys()].indexOf(id))
    const block = { text: new ShownText(), id }
    block.text.add(written)
    this.#blocks.push(block)
    this.#open.set(id, block)
    if (written)
      yield this.#show({ type: 'output_text_delta', delta: written, ...(id !== undefined && { itemId: id }) })
  }

  #show(event: TextDelta): StreamEvent {
    this.characters += event.delta.length
    return event
  }
}

/** Whether a raw event begins something other than text and reasoning. */
function hasCall(raw: RawEvent | undefined): boolean {
  if (raw?.choices) return raw.choices.some(({ delta }) => delta?.tool_calls)
  return raw?.type === 'response.output_item.added' && raw.item?.type !== 'message' && raw.item?.type !== 'reasoning'
}
