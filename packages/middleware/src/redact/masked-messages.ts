/** Messages, requests and other data with their secrets masked. What holds none is the same object. */

import type { AssistantMessage, AssistantPart, ContentPart, Message, ModelRequest, ToolMessage } from '@meanwhile/core'
import type { Masker } from './masker.ts'

export class MaskedMessages {
  readonly #masker: Masker
  /** A history only grows: each message is looked through once. */
  readonly #known: WeakMap<Message, Message> = new WeakMap()

  constructor(masker: Masker) {
    this.#masker = masker
  }

  request(request: ModelRequest): ModelRequest {
    const instructions = this.#masker.mask(request.instructions)
    const messages = this.history(request.messages)
    if (instructions === request.instructions && messages === request.messages) return request
    return { ...request, instructions, messages }
  }

  /** Inputs of calls included: these have been made. */
  history(messages: readonly Message[]): readonly Message[] {
    return mapped(messages, (message) => {
      const known = this.#known.get(message)
      if (known) return known
      const masked = this.#message(message)
      this.#known.set(message, masked)
      this.#known.set(masked, masked)
      return masked
    })
  }

  /** What a model has said; the inputs of its calls stay (N59). */
  answer(message: AssistantMessage): AssistantMessage {
    const content = this.#texts(message.content)
    return content === message.content ? message : { ...message, content }
  }

  result(message: ToolMessage): ToolMessage {
    const content = mapped(message.content, (part) => this.#part(part))
    const output = this.data(message.output)
    if (content === message.content && output === message.output) return message
    return { ...message, content, ...(output !== undefined && { output }) }
  }

  /** JSON, its keys and numbers too, or what becomes JSON. */
  data(value: unknown): unknown {
    if (typeof value === 'string') return this.#masker.mask(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
      const masked = this.#masker.mask(String(value))
      return masked === String(value) ? value : masked
    }
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.data(value.toJSON())
    if (Array.isArray(value)) return mapped(value, (item) => this.data(item))
    const members = Object.entries(value)
    const masked = mapped(members, (member) => {
      const [key, held] = [this.#masker.mask(member[0]), this.data(member[1])]
      return key === member[0] && held === member[1] ? member : ([key, held] as [string, unknown])
    })
    return masked === members ? value : Object.fromEntries(masked)
  }

  #message(message: Message): Message {
    if (message.role === 'tool') return this.result(message)
    if (message.role === 'assistant') {
      const texts = this.#texts(message.content)
      const content = mapped(texts, (part) =>
        part.type === 'tool-call' ? withInput(part, this.data(part.input)) : part,
      )
      return content === message.content ? message : { ...message, content }
    }
    if (typeof message.content === 'string') {
      const content = this.#masker.mask(message.content)
      return content === message.content ? message : { ...message, content }
    }
    const content = mapped(message.content, (part) => this.#part(part))
    return content === message.content ? message : { ...message, content }
  }

  #part(part: ContentPart): ContentPart {
    return part.type === 'text' ? withText(part, this.#masker.mask(part.text)) : part
  }

  /** A secret may stand in text parts that follow each other: its mask then stands where it begins. */
  #texts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
    const masked: AssistantPart[] = []
    for (let first = 0; first < parts.length; ) {
      const { type } = parts[first] as AssistantPart
      let end = first + 1
      while (type !== 'tool-call' && parts[end]?.type === type) end++
      masked.push(...this.#run(parts.slice(first, end)))
      first = end
    }
    return masked.every((part, index) => part === parts[index]) ? parts : masked
  }

  #run(parts: readonly AssistantPart[]): readonly AssistantPart[] {
    const texts = parts.map((part) => (isMaskable(part) ? part.text : ''))
    const matches = [...this.#masker.matches(texts.join(''))]
    if (matches.length === 0) return parts
    let start = 0
    return parts.map((part, index) => {
      const text = texts[index] ?? ''
      const end = start + text.length
      let masked = ''
      let from = start
      for (const match of matches) {
        if (match.end <= start || match.start >= end) continue
        masked += text.slice(from - start, Math.max(0, match.start - start))
        if (match.start >= start) masked += this.#masker.maskOf(match)
        from = Math.min(match.end, end)
      }
      masked += text.slice(from - start)
      start = end
      return isMaskable(part) ? withText(part, masked) : part
    })
  }
}

type Texts = Extract<AssistantPart, { readonly text: string }>

/** A provider that signs its reasoning takes it back unchanged alone. */
function isMaskable(part: AssistantPart): part is Texts {
  return part.type === 'text' || (part.type === 'reasoning' && part.providerMetadata === undefined)
}

function withText<Part extends { readonly text: string }>(part: Part, text: string): Part {
  return text === part.text ? part : { ...part, text }
}

function withInput<Part extends { readonly input: unknown }>(part: Part, input: unknown): Part {
  return input === part.input ? part : { ...part, input }
}

/** The same list if each of its items stays. */
function mapped<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}
