/** Writes the ids of calls as a provider takes them: calls of other providers, and calls that share an id. */

import type { Message, ToolCall } from '@meanwhile/core'
import { isMistral, type Target } from './families.ts'
import { frozen, isFrozen } from './once.ts'

/** The ids that a target takes, and how another one becomes such an id: the same each time, for the n-th call with it. */
interface IdForm {
  fits(id: string): boolean
  made(id: string, n: number): string
}

/** Messages, and OpenAI's own hosts. */
const WORD: IdForm = { fits: (id) => /^[\w-]{1,64}$/.test(id), made: word }

/** Other hosts: their own ids are unknown, and some need these unchanged. */
const ANY: IdForm = { fits: (id) => id !== '', made: word }

/** Other hosts of Responses, whose specification has this limit. */
const SHORT: IdForm = { fits: (id) => id !== '' && id.length <= 64, made: word }

/** Mistral: nine letters and digits. */
const NINE: IdForm = { fits: (id) => /^[A-Za-z0-9]{9}$/.test(id), made: nine }

function formOf(target: Target): IdForm {
  if (isMistral(target)) return NINE
  if (target.wire === 'anthropic' || target.host.isOpenAI) return WORD
  return target.wire === 'openai-responses' ? SHORT : ANY
}

/**
 * The same messages with ids that the target takes, each of them once. An id that fits stays. The first of the calls
 * that share an id keeps it; a result belongs to the last call before it that has its id.
 */
export function withFittingIds(messages: readonly Message[], target: Target): readonly Message[] {
  const form = formOf(target)
  if (allFit(messages, form)) return messages
  const ids = new WireIds(messages, form)
  return messages.map((message) => {
    if (message.role === 'user') return message
    return withIds(message, message.role === 'tool' ? [ids.ofResult(message.callId)] : ids.ofCalls(callsIn(message)))
  })
}

/** Whether the target takes all ids, and no two calls share one. */
function allFit(messages: readonly Message[], form: IdForm): boolean {
  const seen = new Set<string>()
  /** The ids of calls that the provider ran: no other call may have them. */
  const others: string[] = []
  for (const message of messages) {
    if (message.role === 'tool' && !form.fits(message.callId)) return false
    if (message.role !== 'assistant') continue
    for (const part of message.content) {
      if (part.type !== 'tool-call') continue
      if (!isOurs(part)) others.push(part.id)
      else if (!form.fits(part.id) || seen.size === seen.add(part.id).size) return false
    }
  }
  return !others.some((id) => seen.has(id))
}

/** Each message with the ids that it last had on a wire, so that it is the same message there in all steps of a run. */
const written = new WeakMap<Message, { readonly ids: readonly string[]; readonly message: Message }>()

/** The message with these ids of its calls, in their order, or of its result. */
function withIds(message: Message, ids: readonly string[]): Message {
  const own = message.role === 'tool' ? [message.callId] : callsIn(message).map(({ id }) => id)
  if (isSame(own, ids)) return message
  const known = written.get(message)
  if (known && isSame(known.ids, ids)) return known.message
  const made = renamed(message, ids)
  if (isFrozen(message)) written.set(message, { ids, message: frozen(made) })
  return made
}

function renamed(message: Message, ids: readonly string[]): Message {
  if (message.role === 'user') return message
  const [callId = ''] = ids
  if (message.role === 'tool') return { ...message, callId }
  let nth = 0
  return {
    ...message,
    content: message.content.map((part) => (part.type === 'tool-call' ? { ...part, id: ids[nth++] ?? part.id } : part)),
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.every((id, i) => id === other[i])
}

function callsIn(message: Message): readonly ToolCall[] {
  return message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : []
}

class WireIds {
  readonly #form: IdForm
  /** The ids that stay. No made id may be one of them. */
  readonly #fitting: ReadonlySet<string>
  /** The ids that calls have on the wire so far, and those of calls that a provider ran: these keep theirs. */
  readonly #used: Set<string>
  /** How many calls have had each id. */
  readonly #counts = new Map<string, number>()
  /** The ids on the wire of the last calls with each id, in call order. Results take them from the front. */
  #open = new Map<string, string[]>()
  /** The ids that calls of the current message have already. */
  #inMessage = new Set<string>()

  constructor(messages: readonly Message[], form: IdForm) {
    this.#form = form
    const given = messages.flatMap(callsIn)
    this.#used = new Set(given.filter((part) => !isOurs(part)).map(({ id }) => id))
    this.#fitting = new Set(given.map(({ id }) => id).filter((id) => form.fits(id)))
  }

  /** The ids of the calls of one message. */
  ofCalls(calls: readonly ToolCall[]): readonly string[] {
    this.#inMessage = new Set()
    return calls.map((call) => (isOurs(call) ? this.#ofCall(call.id) : call.id))
  }

  #ofCall(id: string): string {
    const onWire = this.#of(id)
    this.#used.add(onWire)
    const waiting = this.#inMessage.has(id) ? this.#open.get(id) : undefined
    if (waiting) waiting.push(onWire)
    else this.#open.set(id, [onWire])
    this.#inMessage.add(id)
    return onWire
  }

  /** The result of a call in an earlier part of the history that is not here has the id of the first call with its id. */
  ofResult(id: string): string {
    const waiting = this.#open.get(id)
    const [first] = waiting ?? []
    if (waiting && waiting.length > 1) waiting.shift()
    return first ?? (this.#form.fits(id) ? id : this.#form.made(id, 1))
  }

  #of(id: string): string {
    if (this.#form.fits(id) && !this.#used.has(id)) return id
    for (;;) {
      const n = (this.#counts.get(id) ?? 0) + 1
      this.#counts.set(id, n)
      const made = this.#form.made(id, n)
      if (!this.#used.has(made) && !this.#fitting.has(made)) return made
    }
  }
}

function isOurs(call: ToolCall): boolean {
  return call.providerResult === undefined
}

/** Readable, and with a hash, because different ids may become the same word. */
function word(id: string, n: number): string {
  return `${id
    .slice(0, 100)
    .replaceAll(/[^\w-]+/g, '_')
    .slice(0, 48)}_${nine(id, n)}`
}

/** 9 letters and digits: a hash of 46 bits (cyrb53). */
function nine(id: string, n: number): string {
  let a = 0xdeadbeef ^ n
  let b = 0x41c6ce57 ^ n
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  return ((4294967296 * (2097151 & high) + (low >>> 0)) % 36 ** 9).toString(36).padStart(9, '0')
}
