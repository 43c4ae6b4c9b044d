/** The middleware `guard()`: nothing of a response counts before your check of what it answers has passed. */

import {
  type Awaitable,
  ConfigError,
  checkOptions,
  type Effect,
  type Middleware,
  type ModelFlow,
  type OptionNames,
  type Run,
  runLocal,
  type Tool,
  type UserMessage,
} from '@meanwhile/core'
import { branded, errorMessage, judgeCall } from '@meanwhile/core/calls'
import { checkCounts, checkFunctions, checkTimes } from './check-options.ts'
import { type CheckedCall, checkedCall } from './checked-call.ts'
import { GuardedCalls, type GuardToolOptions } from './guard/guarded-calls.ts'
import { GuardedRun, type RunRules } from './guard/guarded-run.ts'
import { knownBy } from './guard/input-checks.ts'
import type { GuardContext, GuardVerdict } from './guard/verdict.ts'
import { GuardError } from './guard-error.ts'

/** The options of `guard`: at least one of `input`, `output` and `tool`. */
export interface GuardOptions {
  /** The name in events, spans, errors and checkpoints. Several guards of an agent need different names. Default `guard`. */
  readonly name?: string
  /** Checks user messages while the model answers them. Messages with an `origin` come from middleware, and are not checked. */
  readonly input?: (messages: readonly UserMessage[], context: GuardContext) => Awaitable<GuardVerdict>
  /** Checks the text that the model writes, from its beginning. `final`: it is whole. */
  readonly output?: (text: string, context: GuardContext & { readonly final: boolean }) => Awaitable<GuardVerdict>
  /** Checks tool calls and their results. */
  readonly tool?: GuardToolOptions
  /** Which calls may begin while a check of the input or output is open. What an agent inside a call does above `read` waits in any case. Default `['read', 'calls']`. */
  readonly meanwhile?: readonly ('read' | 'calls')[] | 'none'
  /** Whether text and reasoning are shown only when the check of the input has passed. Default `false`. */
  readonly hold?: boolean
  /** For `output`: how many characters are checked at once, and then shown. A block ends with a sentence, if one ends in time. Default 400. */
  readonly block?: number
  /** Whether `input` also gets the user messages of earlier turns. Default `false`: their own runs have checked them. */
  readonly history?: boolean
  /** The time limit of one check, in milliseconds. A check that takes longer has failed. Default 10,000. */
  readonly timeout?: number
  /** The answer of the run if a check of the input or output fails. Default: none; the run ends with `GuardError`. */
  readonly answer?: string | ((verdict: Failed) => string)
}

type Failed = Extract<GuardVerdict, { readonly pass: false }>

const NAMES: OptionNames<GuardOptions> = {
  name: '',
  input: '',
  output: '',
  tool: '',
  meanwhile: '',
  hold: '',
  block: '',
  history: '',
  timeout: '',
  answer: '',
}

/** Everything else: the guard sees a call or a message first, and lets it pass last. */
const OTHERS = [
  'agents-md',
  'answer-guard',
  'approve',
  'call-limits',
  'clear-tool-results',
  'eager-tools',
  'early-stop',
  'fallback-model',
  'filesystem',
  'offload-tool-results',
  'patch-tool-calls',
  'plan-tasks',
  'redact',
  'retry-model',
  'retry-tool',
  'skills',
  'summarize',
  'timeout',
  'tool-search',
  'visible-text',
]

/**
 * Checks what the user asks (`input`) and what the model writes (`output`) while the model is writing, and tool calls and their results (`tool`). A
 * response is accepted only when its checks have passed. Until then, no call above `read` runs, no approval is asked for, and nothing ends the run.
 *
 * A check has passed only if it returns `{ pass: true }`. If it throws, takes too long or returns anything else, it has failed: the model call is
 * closed, its early calls are discarded, and the run ends with {@link GuardError}, or with `answer`. A resume of what was stored after that does not get
 * past it. A run that stops while a check is open checks again when it is resumed.
 *
 * It is outside of all other middleware. Text that was shown before the verdict stays shown, unless there is `hold`. Tools that the provider runs are not
 * held. An agent inside a call has its own messages: give it its own guard.
 *
 * @throws {ConfigError} An option is invalid.
 */
export function guard(options: GuardOptions): Middleware {
  const { rules, calls, answer } = checkedOptions(options)
  const knownOf = knownBy(rules.name)
  const ofRun = runLocal((): { guarded?: GuardedRun } => ({}))
  const guardedIn = (run: Run) => ofRun(run).guarded as GuardedRun
  const isJudged = ({ effect }: Tool) => (rules.input || rules.output) !== undefined && typeof effect === 'function'
  const needsInput = (tool: Tool) => isJudged(tool) || (calls?.checksInputs(tool) ?? false)

  /** Returns the answer instead of the model's. If the model was asked again after an answer, that was not accepted, so the run ends. */
  async function* answered(failure: GuardError, run: Run): ModelFlow {
    const known = knownOf(run)
    const { answered } = known.value
    if (answer === undefined || (answered !== null && answered < run.step)) throw failure
    if (failure.place === 'input') known.value = { ...known.value, answered: run.step }
    const text = typeof answer === 'string' ? answer : answer(verdictOf(failure))
    run.warn({ code: 'guard-failed', message: failure.message })
    // A reader drops what the attempt has shown.
    yield { type: 'attempt-failed', error: failure, next: 'none' }
    yield { type: 'text-delta', delta: text }
    return { role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop' }
  }

  return branded('middleware', {
    name: rules.name,
    order: { outside: OTHERS },
    ignoresInput: (tool) => !needsInput(tool),
    onRun(run) {
      const guarded = new GuardedRun(run, rules, knownOf(run))
      ofRun(run).guarded = guarded
      return () => guarded.end()
    },
    beforeModel(_, run) {
      calls?.checkTools(run)
      // The outermost hook is the first, so the check of a message begins before anything acts on it.
      guardedIn(run).look(run.step === 1)
    },
    async *wrapModel(request, next, run) {
      try {
        return yield* guardedIn(run).respond(request, next)
      } catch (error) {
        if (!isOwn(error)) throw error
        return yield* answered(error, run)
      }
    },
    async *wrapToolCall(call, next, run) {
      // A resume makes the open calls before it calls the model.
      calls?.checkTools(run)
      const guarded = guardedIn(run)
      const tool = run.setup.tools.find(({ name }) => name === call.name)
      const checked = tool && needsInput(tool) ? await checkedCall(tool, call) : undefined
      try {
        await guarded.untilFree(call, effectOf(tool, checked), run)
      } catch (error) {
        // The answer that the run gets instead requests no calls. This call is then discarded, or a hook has made it.
        if (!isOwn(error) || answer === undefined) throw error
        return errorMessage(call, `Not run: ${error.message}`)
      }
      const given = checked?.call ?? call
      if (!tool || !calls) return yield* next(given)
      return yield* calls.call({ call: given, tool, checked }, next, run, guarded.guard)
    },
  })

  function isOwn(error: unknown): error is GuardError {
    return error instanceof GuardError && error.guard === rules.name && error.place !== 'tool'
  }
}

interface Checked {
  readonly rules: RunRules
  readonly calls: GuardedCalls | undefined
  readonly answer: GuardOptions['answer']
}

function checkedOptions(options: GuardOptions): Checked {
  checkOptions('guard', options, NAMES)
  const { name = 'guard', input, output, tool, meanwhile = ['read', 'calls'], answer } = options
  const { hold = false, block = 400, history = false, timeout = 10_000 } = options
  checkFunctions({ input, output })
  checkCounts({ block })
  checkTimes({ timeout })
  if (!input && !output && !tool) throw new ConfigError('input', 'is required, or output, or tool')
  if (answer !== undefined && typeof answer !== 'string') checkFunctions({ answer })
  const effects = meanwhile === 'none' ? [] : meanwhile
  if (!Array.isArray(effects) || effects.some((effect) => !['read', 'calls'].includes(effect)))
    throw new ConfigError('meanwhile', 'must be none, or a list that may contain read and calls')
  const rules = { name, timeout, input, output, meanwhile: effects, hold, block, history }
  return { rules, calls: tool && new GuardedCalls(tool), answer }
}

function effectOf(tool: Tool | undefined, checked: CheckedCall | undefined): Effect {
  if (!tool) return 'external'
  if (typeof tool.effect === 'function') return checked ? judgeCall(tool, checked.value).effect : 'external'
  return tool.effect ?? 'external'
}

function verdictOf({ reason }: GuardError): Failed {
  return { pass: false, ...(reason !== undefined && { reason }) }
}
