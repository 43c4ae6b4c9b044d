/** Masks secrets in messages and requests. Objects without secrets are returned unchanged. */

import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  Message,
  ModelRequest,
  ToolCall,
  ToolMessage,
} from '@meanwhile/core'
import { mapped, maskedData } from './masked-data.ts'
import type { Masker, Match } from './masker.ts'

export class MaskedMessages {
  readonly #masker: Masker
  /** Because a history only grows, each message is masked once. */
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

  /** Masks a history, including the inputs of its calls, because those calls have already been made. */
  history(messages: readonly Message[]): readonly Message[] {
    return mapped(messages, (message) => this.one(message))
  }

  /** Masks the model's response. Tools get the inputs of their calls as they are; only the input that is the answer is masked. */
  answer(message: AssistantMessage, answerTool: string | undefined): AssistantMessage {
    return this.#said(message, ({ name }) => name === answerTool)
  }

  result(message: ToolMessage): ToolMessage {
    const masked = withContent(message, this.#parts(message.content))
    const output = maskedData(this.#masker, message.output)
    return output === message.output ? masked : { ...masked, output }
  }

  /** Masks a message of a history. */
  one(message: Message): Message {
    const masked = this.#known.get(message) ?? this.#message(message)
    // An object that is not frozen may change.
    if (Object.isFrozen(message)) this.#known.set(message, masked)
    return masked
  }

  #message(message: Message): Message {
    if (message.role === 'tool') return this.result(message)
    if (message.role === 'assistant') return this.#said(message, () => true)
    if (typeof message.content !== 'string') return withContent(message, this.#parts(message.content))
    const content = this.#masker.mask(message.content)
    return content === message.content ? message : { ...message, content }
  }

  #said(message: AssistantMessage, isMasked: (call: ToolCall) => boolean): AssistantMessage {
    const content = mapped(this.#parts(message.content), (part) =>
      part.type === 'tool-call' && isMasked(part) ? withInput(part, maskedData(this.#masker, part.input)) : part,
    )
    return withContent(message, content)
  }

  /**
   * All texts of a message are read as one text, and so is its reasoning, because a secret may continue in the next
   * part.
   */
  #parts<Part extends AssistantPart | ContentPart>(parts: readonly Part[]): readonly Part[] {
    return this.#kind(this.#kind(parts, isText), isReasoning)
  }

  #kind<Part extends AssistantPart | ContentPart>(
    parts: readonly Part[],
    isOfKind: (part: AssistantPart | ContentPart) => part is Texts,
  ): readonly Part[] {
    const texts = parts.map((part) => (isOfKind(part) ? part.text : ''))
    const matches = [...this.#masker.matches(texts.join(''))]
    if (matches.length === 0) return parts
    let start = 0
    return parts.flatMap((part, index) => {
      const text = texts[index] ?? ''
      const masked = this.#piece(text, start, matches)
      start += text.length
      if (masked === text) return part
      // A part whose whole text belongs to the preceding mask is removed, because some providers reject empty parts.
      return masked === '' ? [] : { ...part, text: masked }
    })
  }

  /** Returns the masked piece of a text that begins at `start`. A mask stands where its secret begins. */
  #piece(text: string, start: number, matches: readonly Match[]): string {
    let masked = ''
    let from = 0
    for (const match of matches) {
      const [first, end] = [match.start - start, match.end - start]
      if (end <= 0 || first >= text.length) continue
      masked += text.slice(from, Math.max(0, first)) + (first >= 0 ? this.#masker.maskOf(match) : '')
      from = Math.min(end, text.length)
    }
    return masked + text.slice(from)
  }
}

type Texts = Extract<AssistantPart, { readonly text: string }>

function isText(part: AssistantPart | ContentPart): part is Texts {
  return part.type === 'text'
}

/** A provider that signs its reasoning accepts it only unchanged. */
function isReasoning(part: AssistantPart | ContentPart): part is Texts {
  return part.type === 'reasoning' && part.providerMetadata === undefined
}

function withContent<Said extends { readonly content: unknown }>(message: Said, content: Said['content']): Said {
  return content === message.content ? message : { ...message, content }
}

function withInput<Part extends { readonly input: unknown }>(part: Part, input: unknown): Part {
  return input === part.input ? part : { ...part, input }
}
