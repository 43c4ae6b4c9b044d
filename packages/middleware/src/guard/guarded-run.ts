/** The guard of one run: what it lets pass while its checks are open. */

import type { Awaitable, Cell, Effect, ModelFlow, ModelRequest, Run, ToolCall } from '@meanwhile/core'
import { coming, isProvisional, unheard, unlessAborted } from '@meanwhile/core/calls'
import { checkedText } from './checked-text.ts'
import { InputChecks, type InputRules, type Known } from './input-checks.ts'
import { untilPassed } from './until-passed.ts'
import { Check, type GuardContext, type GuardOf, type GuardVerdict } from './verdict.ts'

export interface RunRules {
  readonly name: string
  readonly timeout: number
  readonly input: InputRules['check'] | undefined
  readonly output:
    | ((text: string, context: GuardContext & { readonly final: boolean }) => Awaitable<GuardVerdict>)
    | undefined
  /** The effects that calls may have while a check is open. */
  readonly meanwhile: readonly Effect[]
  readonly hold: boolean
  readonly block: number
  readonly history: boolean
}

export class GuardedRun {
  readonly guard: GuardOf
  readonly #run: Run
  readonly #rules: RunRules
  readonly #inputs: InputChecks | undefined
  readonly #ended: AbortController = new AbortController()
  /** The model call whose text is being checked. */
  #responding: Promise<unknown> | undefined

  constructor(run: Run, rules: RunRules, known: Cell<Known>) {
    const { name, timeout, input, history } = rules
    this.#run = run
    this.#rules = rules
    this.guard = { name, timeout, ended: this.#ended.signal }
    this.#inputs = input && new InputChecks(this.guard, { check: input, history }, known)
  }

  /** Ends the checks that are open. */
  end(): void {
    this.#ended.abort(new Error('the run has ended'))
  }

  /** Begins the checks that are due. */
  look(isFirst: boolean): void {
    this.#inputs?.look(this.#run, isFirst)
  }

  /**
   * Makes a model call. Its message is returned when all checks have passed.
   *
   * @throws {GuardError} One has failed.
   */
  async *respond(request: ModelRequest, next: (request: ModelRequest) => ModelFlow): ModelFlow {
    const { output, hold } = this.#rules
    // A resume repeats the model call of a step without its `beforeModel`.
    this.look(false)
    this.#inputs?.throwIfFailed()
    const flow = output ? this.#checked(next(request), request, output) : next(request)
    return yield* this.#inputs?.isOpen ? untilPassed(flow, this.#inputs, hold) : flow
  }

  /**
   * Waits until a call with this effect may begin.
   *
   * @throws {GuardError} A check has failed.
   */
  async untilFree(call: ToolCall, effect: Effect, run: Run): Promise<void> {
    // A hook may make calls before the first model call, and a resume makes those that were open, whose messages nobody may have checked.
    this.look(run.step === 0)
    this.#inputs?.throwIfFailed()
    if (!this.#inputs?.isOpen && !this.#responding) return
    const isEarly = isProvisional(run)
    // What an agent inside an early call does above `read` waits for the commit of that call.
    if (this.#rules.meanwhile.includes(effect) && (effect === 'read' || isEarly)) return
    const inputs = isEarly ? this.#inputs?.passed : this.#inputs?.held()
    const passed = unheard(Promise.all([inputs, this.#responding]))
    // The second ends when the run stops, or the response is dropped, so that the call does not wait for a check that no longer matters.
    if (isEarly) await Promise.race([passed, run.stood(call.id)])
    else await unlessAborted(passed, [run.signal])
  }

  async *#checked(
    flow: ModelFlow,
    { output: format }: ModelRequest,
    output: NonNullable<RunRules['output']>,
  ): ModelFlow {
    const { block } = this.#rules
    const run = this.#run
    const check = (text: string, final: boolean) =>
      new Check(this.guard, { place: 'output', run, check: (context) => output(text, { ...context, final }) })
    const { promise, resolve, reject } = coming<void>()
    this.#responding = promise
    try {
      const message = yield* checkedText(flow, { block, answerTool: format?.name, check })
      resolve()
      return message
    } catch (error) {
      reject(error)
      throw error
    } finally {
      // Closed, so no call of this response counts.
      reject(new Error('the model call was left'))
      this.#responding = undefined
    }
  }
}
