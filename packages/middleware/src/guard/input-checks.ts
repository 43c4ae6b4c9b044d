/** The checks of the user messages of one run: which messages have none yet, what is open, and what has failed. */

import { type Awaitable, type Cell, type Message, type Run, runLocal, type UserMessage } from '@meanwhile/core'
import { isRecord, textKey } from '@meanwhile/core/calls'
import { GuardError } from '../guard-error.ts'
import { isCount, schemaOf } from '../schema-of.ts'
import { Check, type GuardContext, type GuardOf, type GuardVerdict } from './verdict.ts'

export interface InputRules {
  check(messages: readonly UserMessage[], context: GuardContext): Awaitable<GuardVerdict>
  /** Whether messages of earlier turns are checked, too. */
  readonly history: boolean
}

/** What a checkpoint keeps of the checks, so that a resume knows it. */
export interface Known {
  /** Whether the guard has seen the messages of the run. */
  readonly begun: boolean
  /** The keys of the messages that need no check any more. */
  readonly passed: readonly string[]
  /** The reason of the check that has failed; empty if it gave none. */
  readonly failed: string | null
  /** The step in which the guard has answered instead of the model. */
  readonly answered: number | null
}

/** Returns the cell of a guard in the checkpoints of a run. */
export function knownBy(guard: string): (run: Run) => Cell<Known> {
  const initial = { begun: false, passed: [], failed: null, answered: null }
  return runLocal({ key: `guard/${guard}`, schema: schemaOf(isKnown), initial })
}

export class InputChecks {
  readonly #guard: GuardOf
  readonly #rules: InputRules
  readonly #known: Cell<Known>
  /** The messages that need no further check in this process: one has passed, or is open. */
  readonly #seen: WeakSet<Message> = new WeakSet()
  readonly #open: Set<Check> = new Set()
  #looked: readonly Message[] | undefined
  #failure: GuardError | undefined

  constructor(guard: GuardOf, rules: InputRules, known: Cell<Known>) {
    this.#guard = guard
    this.#rules = rules
    this.#known = known
  }

  /**
   * Begins the check of the messages that have none. `isFirst`: nothing of the run has happened yet, so the messages
   * before the last answer belong to earlier turns, which their own runs have checked.
   */
  look(run: Run, isFirst: boolean): void {
    const { messages } = run
    if (messages === this.#looked) return
    this.#looked = messages
    this.#begin(messages, run, isFirst)
  }

  /** @throws {GuardError} A check has failed, perhaps before the run was resumed. */
  throwIfFailed(): void {
    const { failed } = this.#known.value
    if (failed === null) return
    this.#failure ??= new GuardError(this.#guard.name, 'input', failed || undefined)
    throw this.#failure
  }

  /** Whether a check is open or has failed. */
  get isOpen(): boolean {
    return this.#open.size > 0
  }

  /** Rejects when a check fails, otherwise resolves when all have passed. */
  get passed(): Promise<unknown> {
    return Promise.all([...this.#open].map((check) => check.passed))
  }

  /** The same, when nothing else is waited for any more. */
  held(): Promise<unknown> {
    return Promise.all([...this.#open].map((check) => check.held()))
  }

  #begin(messages: readonly Message[], run: Run, isFirst: boolean): void {
    const known = this.#known
    const fresh = messages.filter((message): message is UserMessage => isTheirs(message) && !this.#seen.has(message))
    for (const message of fresh) this.#seen.add(message)
    if (fresh.length === 0 && known.value.begun) return
    const keys = fresh.map(keyOf)
    if (!known.value.begun) {
      const answered = isFirst && !this.#rules.history ? messages.findLastIndex(({ role }) => role === 'assistant') : -1
      const earlier = new Set(messages.slice(0, Math.max(0, answered)))
      const passed = keys.filter((_, index) => earlier.has(fresh[index] as Message))
      known.value = { ...known.value, begun: true, passed }
    }
    const passed = new Set(known.value.passed)
    const unchecked = fresh.filter((_, index) => !passed.has(keys[index] as string))
    if (unchecked.length === 0) return
    const check = new Check(this.#guard, {
      place: 'input',
      run,
      check: (context) => this.#rules.check(unchecked, context),
      told: (failure) => {
        this.#failure ??= failure
        known.value = failure
          ? { ...known.value, failed: failure.reason ?? '' }
          : { ...known.value, passed: [...new Set([...known.value.passed, ...keys])] }
        if (!failure) this.#open.delete(check)
      },
    })
    this.#open.add(check)
  }
}

/** Whether a message is of the user. One with an origin was added by a hook or by core. */
function isTheirs(message: Message): message is UserMessage {
  return message.role === 'user' && message.origin === undefined
}

function keyOf({ content }: UserMessage): string {
  return textKey(JSON.stringify(content))
}

function isKnown(value: unknown): value is Known {
  if (!isRecord(value) || typeof value.begun !== 'boolean' || !Array.isArray(value.passed)) return false
  const { failed, answered } = value
  return (failed === null || typeof failed === 'string') && (answered === null || isCount(answered))
}
