/** A model call whose text is shown in blocks, each after its check. */

import { type AssistantMessage, callsOf, type ModelFlow, textOf } from '@meanwhile/core'
import { unheard } from '@meanwhile/core/calls'
import { Beside } from './beside.ts'
import type { Check } from './verdict.ts'

type Event = ModelFlow extends AsyncGenerator<infer Event> ? Event : never

export interface TextRules {
  /** How many characters are checked at once. If no sentence ends there, up to twice as many. */
  readonly block: number
  /** The name of the tool whose input is the answer, if the agent may have one. */
  readonly answerTool: string | undefined
  /** Begins the check of the text so far. `final`: it is the whole text of the response. */
  check(text: string, final: boolean): Check
}

interface Block {
  readonly checks: readonly Check[]
  /** How many of the waiting events may be shown when they have passed. */
  readonly events: number
  readonly open: Beside
}

/**
 * Events wait, in order, for the check of the text before them. Reasoning is left out, because nothing checks it. The
 * message is returned when its whole text has passed.
 *
 * @throws {GuardError} A check has failed.
 */
export async function* checkedText(flow: ModelFlow, rules: TextRules): ModelFlow {
  const text = new UncheckedText(rules)
  const waiting: Event[] = []
  let block: Block | undefined
  let next: Promise<IteratorResult<Event, AssistantMessage>> | undefined
  for (;;) {
    next ??= unheard(flow.next())
    if (!block && text.isBlock) {
      const checks = text.take().map((one) => rules.check(one, false))
      block = { checks, events: waiting.length, open: new Beside(Promise.all(checks.map(({ passed }) => passed))) }
    }
    await block?.open.or(next)
    if (block?.open.hasPassed()) {
      yield* waiting.splice(0, block.events)
      block = undefined
      continue
    }
    const step = await next
    next = undefined
    if (step.done) {
      const checks = [...(block?.checks ?? []), ...lastChecks(step.value, text, rules)]
      await Promise.all(checks.map((check) => check.held()))
      yield* waiting
      return step.value
    }
    if (step.value.type === 'reasoning-delta') continue
    text.add(step.value)
    if (text.isAny || waiting.length > 0) waiting.push(step.value)
    else yield step.value
  }
}

/** The checks at the end: of the whole text, and of text that attempts have written which are not part of the message. */
function lastChecks(message: AssistantMessage, text: UncheckedText, { check, answerTool }: TextRules): Check[] {
  const inputs = callsOf(message).flatMap(({ name, input }) => (name === answerTool ? [JSON.stringify(input)] : []))
  const whole = [textOf(message), ...inputs].filter((one) => one.trim() !== '').join('\n')
  const others = text.take().filter((one) => one.trim() !== '' && one !== whole)
  return [...others.map((one) => check(one, false)), ...(whole === '' ? [] : [check(whole, true)])]
}

/** The text of each attempt, and how much of it has not been checked. */
class UncheckedText {
  readonly #rules: TextRules
  readonly #texts: Map<number | undefined, string> = new Map()
  /** The attempts with text that has not been checked. */
  readonly #unchecked: Set<number | undefined> = new Set()
  /** The calls whose input is the answer, and whether a piece of it has come. */
  readonly #answers: Map<string, boolean> = new Map()
  #characters = 0
  #endsSentence = false

  constructor(rules: TextRules) {
    this.#rules = rules
  }

  get isAny(): boolean {
    return this.#unchecked.size > 0
  }

  /** Whether there is enough for a check. */
  get isBlock(): boolean {
    const { block } = this.#rules
    return this.#characters >= block && (this.#endsSentence || this.#characters >= 2 * block)
  }

  add(event: Event): void {
    const piece = this.#textIn(event)
    if (piece === undefined) return
    const attempt = 'attempt' in event ? event.attempt : undefined
    this.#texts.set(attempt, (this.#texts.get(attempt) ?? '') + piece)
    this.#unchecked.add(attempt)
    this.#characters += piece.length
    this.#endsSentence = SENTENCE_END.test(piece)
  }

  /** Returns the texts that have changed since the last check, from their beginning. */
  take(): readonly string[] {
    const taken = [...this.#unchecked].map((attempt) => this.#texts.get(attempt) ?? '')
    this.#unchecked.clear()
    this.#characters = 0
    return taken
  }

  /** The text that an event shows: the text of the response, or the input of a call that is the answer. */
  #textIn(event: Event): string | undefined {
    switch (event.type) {
      case 'text-delta':
        return event.delta
      case 'tool-input-start':
        if (event.name === this.#rules.answerTool) this.#answers.set(event.id, false)
        return undefined
      case 'tool-input-delta':
        if (!this.#answers.has(event.id)) return undefined
        this.#answers.set(event.id, true)
        return event.delta
      case 'tool-input-closed':
      case 'tool-call': {
        const { id, name, input } = event.call
        if (name !== this.#rules.answerTool) return undefined
        const isWritten = this.#answers.get(id) ?? false
        this.#answers.set(id, true)
        return isWritten ? '' : JSON.stringify(input)
      }
      default:
        return undefined
    }
  }
}

const SENTENCE_END = /[.!?…。！？\n]["')\]]*\s*$/
