/** What a tool is, and what its author promises of it. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ConfigError, messageOf } from './errors.ts'
import { unheard } from './flow/unheard.ts'
import type { ContentPart, Json } from './message.ts'
import type { Run } from './middleware.ts'
import type { ToolDefinition } from './model.ts'
import { checkOptions, nearestName, type OptionNames } from './option-checks.ts'
import { freeze } from './run/history.ts'

/**
 * What a call does to the world. It decides how early the call may start:
 *
 * - `read`: changes nothing; a call nobody asked for in the end is waste, no more.
 * - `idempotent`: making it twice with one `idempotencyKey` is making it once; making it for a response that is then thrown
 *   away is acceptable.
 * - `reversible`: `compensate` undoes it.
 * - `external`: anything else, and the default.
 * - `calls`: does nothing except call other tools, through `run.callTool`, or run an agent, through `agentTool`. It starts as early as a
 *   `read`. Each call it makes has its own effect: one that may not start yet waits until the model call has stood. It is made again if
 *   the end of a process cut it off, and finds the calls it had made by their ids: give them the same ids each time.
 */
export type Effect = 'read' | 'idempotent' | 'reversible' | 'external' | 'calls'

/** A Standard Schema that also gives its JSON Schema. Zod 4 schemas are both, and so is what MCP's `fromJsonSchema` gives. */
export interface ToolSchema<Input = unknown> {
  readonly '~standard': StandardSchemaV1.Props<unknown, Input> & GivesJsonSchema
}

/** Of the Standard JSON Schema what is asked for: some declare targets of their own. */
interface GivesJsonSchema {
  readonly jsonSchema: {
    readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    readonly output?: unknown
  }
}

/** What a working tool reports: `progress` from 0 to 1. */
export interface Progress {
  readonly progress?: number
  readonly message?: string
  readonly metadata?: Json
}

export interface ToolContext<Warmed = unknown> {
  readonly callId: string
  /**
   * The same for every execution of this logical call, across attempts of the model call too (H25). Of a call that started with
   * the members it needs, the call id stands for it until its input is whole.
   */
  readonly idempotencyKey: string
  /** The n-th execution of this call, from 1 (C14). */
  readonly attempt: number
  /** What this call has been answered, first to last: it starts from its top after each {@link interrupt} (L7). */
  readonly answers: readonly Json[]
  /**
   * Aborted while the function works: with the run, with this call, or for this execution alone when the wrap that asked for it
   * has left (C15). Never once that has settled.
   */
  readonly signal: AbortSignal
  /** Absent in a stand-alone {@link runTool}. */
  readonly run?: Run
  /**
   * What the tool's `warm` gave: absent if the call was not warmed up, `undefined` if that failed; never rejects (H33). So
   * `(await context.warmed) ?? (await open())` is right in every case.
   */
  readonly warmed?: Promise<Warmed | undefined>
}

/** What `execute` of a tool with `needs` gets besides. */
export interface NeedsContext<Input, Warmed = unknown> extends ToolContext<Warmed> {
  /**
   * The whole input, checked. Rejects when it will not come: the stream failed, or the call was discarded or aborted (H32). Need
   * not be awaited.
   */
  readonly rest: Promise<Input>
}

/** What `warm` gets: nothing of the call but its id. */
export interface WarmContext {
  readonly callId: string
  /** Aborted when the call is aborted or discarded, will never come, or is over before the warm-up is. */
  readonly signal: AbortSignal
}

/** `execute` of a tool with `needs` is typed by {@link tool}. */
export interface Tool<Input = unknown, Output = unknown, Warmed = unknown> {
  readonly name: string
  readonly description: string
  /**
   * Checks the input; what it gives back is what `execute` gets. No time limit or abort ends a check: a pattern in it that takes exponential
   * time blocks the event loop.
   */
  readonly input: ToolSchema<Input>
  /** Default `external`. A function is asked with each call's checked input. */
  readonly effect?: Effect | Method<Input, Effect>
  /**
   * Names of what a call reads and writes, such as `file:src/a.ts`, from its checked input. Of calls of a step that name
   * the same key readers overlap and a writer runs alone, in call order (H14). A call that another call makes waits for its keys, too,
   * but never for those of its maker. A throw counts as an `external` call without keys, and is a warning (H4).
   */
  reads?(input: Input): readonly string[]
  writes?(input: Input): readonly string[]
  /**
   * Top-level members of the input, as the model writes them. A call may start when they are complete, while the rest is still being
   * written. With an empty list it may start when the name of its tool is known. In every run `execute` gets only these members, and the
   * whole input as `context.rest`. For tools declared `read` or `calls`.
   *
   * A schema is to leave them as they are: a call that started with a member which the schema changes is made anew.
   */
  readonly needs?: readonly string[]
  /**
   * Prepares for a call whose input is not known yet: opens a connection, signs in. At most once per call, and in some runs
   * never. A throw is a warning. For tools declared `read` or `calls`.
   */
  warm?(context: WarmContext): Warmed | Promise<Warmed>
  /**
   * Undoes a call that succeeded and was then discarded. Called once: if the process ends meanwhile, a resume does not repeat it, and
   * warns. Required for `reversible`.
   */
  compensate?(input: Input, output: Output): void | Promise<void>
  /** The result is the run's answer, if the final-answer gate accepts it. */
  readonly returnDirect?: boolean | Method<Output, boolean>
  /** Other words a model may use: of them only the history knows (M9). */
  readonly aliases?: ToolAliases
  /**
   * Milliseconds from the start of `execute`, then its signal aborts, and the call fails with {@link ToolTimeoutError}. A number
   * above 0, or `Infinity`; default: no limit (I10).
   */
  readonly timeout?: number
  /** Whether `cancelTool` may abort a call of it. Default true; an abort of the run always does (I5). */
  readonly cancelable?: boolean
  /**
   * How many calls of this tool object execute at once, over all runs: a positive integer, or `Infinity`, the default. One that
   * finds no slot waits in order of arrival, or with `whenFull: 'fail'` fails at once with {@link ToolBusyError}. While a call
   * executes, the calls of the same tool that work for it share its slot: those it makes, and those of an agent inside it.
   */
  readonly concurrency?: number | { readonly limit: number; readonly whenFull?: 'wait' | 'fail' }
  /**
   * Answers each call at once with `{ callId, state: 'running' }` and goes on beside the run, begun once; the model hears
   * of the result later, and may ask with the tool `tool_status`. If an agent that it runs asks a question, the
   * calling run pauses at its next safe point. Any other background tool can ask nobody: its interrupt is its failure. It needs an
   * `execute`. `atEnd`: what becomes of open work when the model answers: the answer waits for it (the
   * default), it is aborted, or `result.background` has it. Never early.
   */
  readonly background?: boolean | { readonly atEnd?: 'wait' | 'cancel' | 'detach' }
  /**
   * Of a tool without `execute`: what its caller may answer. A resume with an answer that this schema does not accept rejects with
   * {@link AnswerError}, before any call is made, and the question stays open.
   */
  readonly output?: StandardSchemaV1<unknown, Output>
  /** The same for the answers to what a tool asks by {@link interrupt}. `context.answers` has the answers as they were given. */
  readonly answer?: StandardSchemaV1
  /**
   * Does the work. An async generator yields {@link Progress} and returns its output. Without it the caller of the run
   * does: the run is interrupted with the call, and the answer given to `resume` is the output (M15).
   */
  execute?(input: Input, context: ToolContext<Warmed>): Output | Promise<Output> | AsyncGenerator<Progress, Output>
  /**
   * How the model reads the output. Default: a string as it is, `undefined` as empty text, anything else as JSON. A `Map`, an `Error`, a
   * `Response` or an iterable without `toJSON`, which JSON cannot show, is then an error result that says what to return.
   */
  toContent?(output: Output): readonly ContentPart[]
}

/** None may be empty, or stand for two things (M11). */
export interface ToolAliases {
  /** Other names of the tool. */
  readonly names?: readonly string[]
  /** Other names of top-level keys of its input: `{ path: ['file', 'filename'] }`. */
  readonly input?: Readonly<Record<string, readonly string[]>>
}

/** What a call makes is judged by its own effect: to make calls is as light as to read. */
const GRAVITY: Readonly<Record<Effect, number>> = { read: 0, calls: 0, idempotent: 1, reversible: 2, external: 3 }

export function isEffect(value: unknown): value is Effect {
  return typeof value === 'string' && Object.hasOwn(GRAVITY, value)
}

/**
 * The effect of a call with this checked input; `reversible` without `compensate` counts as `external`. Throws what the
 * tool's own function throws.
 */
export function effectOf(tool: Tool, input: unknown): Effect {
  const effect = typeof tool.effect === 'function' ? unheard(tool.effect(input)) : (tool.effect ?? 'external')
  const known = isEffect(effect) && (effect !== 'reversible' || tool.compensate !== undefined)
  return known ? effect : 'external'
}

/** Whether an effect is graver than another. */
export function exceeds(effect: Effect, ceiling: Effect): boolean {
  return GRAVITY[effect] > GRAVITY[ceiling]
}

/** Whether a call with this effect changes nothing itself. */
export function changesNothing(effect: Effect | undefined): boolean {
  return effect !== undefined && GRAVITY[effect] === 0
}

/** A function member that, like a method, lets tools of different inputs stand in one list. */
type Method<Input, Result> = { method(input: Input): Result }['method']

/** What {@link tool} is given of a tool that we execute. With `needs`, an empty list too, `execute` gets those members and the rest. */
export interface ToolOptions<
  Input,
  Output,
  Needs extends readonly (keyof Input)[] | undefined = undefined,
  Warmed = unknown,
  Does = Effect | Method<Input, Effect>,
> extends Omit<Tool<Input, Output, Warmed>, 'effect' | 'needs' | 'execute'> {
  readonly effect?: Does
  readonly needs?: Needs
  execute(
    input: [Needs] extends [undefined] ? Input : Pick<Input, NonNullable<Needs>[number]>,
    context: [Needs] extends [undefined] ? ToolContext<Warmed> : NeedsContext<Input, Warmed>,
  ): Output | Promise<Output> | AsyncGenerator<Progress, Output>
}

// No interfaces: a declaration of somebody's tool spells these out, as it cannot name what is not exported.
type NoNeeds = { readonly needs?: undefined }

/** A tool that we execute; one without `execute` its caller does (M15). */
export type ExecutedTool<Input = unknown, Output = unknown, Warmed = unknown> = Tool<Input, Output, Warmed> &
  Required<Pick<Tool<Input, Output, Warmed>, 'execute'>>

type NoExecute = { readonly execute?: undefined }

/** What other libraries call `input`: the type errors say what to write. */
type OtherWords = {
  /** @deprecated Write `input`. */
  readonly inputSchema?: 'tool() has no inputSchema: write input'
  /** @deprecated Write `input`. */
  readonly parameters?: 'tool() has no parameters: write input'
}

/** What a tool that is declared `reversible` must have. {@link Tool} has its type. */
interface Reversible {
  readonly compensate: unknown
}

/**
 * A tool, its input and output inferred. Gives back the definition itself.
 *
 * @throws {ConfigError} It has a member that is no option of a tool. `createAgent` checks the rest.
 */
export function tool<Input, Output = unknown>(
  definition: Tool<Input, Output> & NoNeeds & NoExecute & OtherWords,
): Tool<Input, Output> & NoNeeds & NoExecute
// The last, as it is the one by which the compiler says what is wrong.
export function tool<
  Input,
  Output,
  const Needs extends readonly (keyof Input & string)[] | undefined = undefined,
  Warmed = unknown,
  // Not the name of the union: the compiler is to say what there is.
  const Does extends 'read' | 'idempotent' | 'reversible' | 'external' | 'calls' | Method<Input, Effect> =
    | 'read'
    | 'idempotent'
    | 'reversible'
    | 'external'
    | 'calls'
    | Method<Input, Effect>,
>(
  definition: ToolOptions<Input, Output, Needs, Warmed, Does> &
    OtherWords &
    ([Does] extends ['reversible'] ? Reversible : unknown),
): ExecutedTool<Input, Output, Warmed> & ([Needs] extends [undefined] ? NoNeeds : unknown)
export function tool<Definition extends object>(definition: Definition): Definition {
  checkToolOptions(definition)
  return definition
}

const TOOL_OPTIONS: OptionNames<Tool> = {
  name: '',
  description: '',
  input: 'inputSchema parameters schema args',
  effect: '',
  reads: '',
  writes: '',
  needs: '',
  warm: '',
  compensate: 'undo',
  returnDirect: '',
  aliases: '',
  timeout: '',
  cancelable: '',
  concurrency: '',
  background: '',
  output: 'outputSchema',
  answer: 'resumeSchema',
  execute: 'func handler run',
  toContent: 'toModelOutput',
}

/** Whether a member is no option there is, but like one that the tool does not have. */
export function lacksNearest(definition: object, member: string): boolean {
  const nearest = member in TOOL_OPTIONS ? undefined : nearestName(member, TOOL_OPTIONS)
  return nearest !== undefined && !(nearest in definition)
}

/** Throws {@link ConfigError} naming the member of a tool that is no option. */
export function checkToolOptions(definition: object): void {
  const { name } = definition as Partial<Tool>
  checkOptions<Tool>('tool', definition as Tool, TOOL_OPTIONS, typeof name === 'string' ? `tools.${name}.` : '')
}

/** The tool as a model is told of it. Throws {@link ConfigError} if its schema does not say what it accepts, or accepts no object. */
export function definitionOf({ name, description, input }: Tool): ToolDefinition {
  const inputSchema = jsonSchemaOf(input, 'tools', `the input of ${name} `)
  const { type = 'object' } = inputSchema
  if (type !== 'object') throw new ConfigError('tools', `the input of ${name} must be the schema of an object`)
  return { name, description, inputSchema }
}

type JsonSchema = ToolDefinition['inputSchema']

/** By schema, because tools may be made anew for each request over schemas that stay. */
const jsonSchemas = new WeakMap<ToolSchema, JsonSchema>()

/** What the schema accepts, as JSON Schema: a frozen copy, made once. Throws {@link ConfigError}, naming the option, if it does not say. */
export function jsonSchemaOf(schema: ToolSchema, option: string, what = ''): JsonSchema {
  let jsonSchema = jsonSchemas.get(schema)
  if (jsonSchema) return jsonSchema
  const problem = `${what}must be a Standard Schema that gives its JSON Schema, as zod 4 schemas do`
  if (!schema?.['~standard']?.jsonSchema) throw new ConfigError(option, problem)
  try {
    jsonSchema = freeze(
      structuredClone(schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' })) as JsonSchema,
    )
  } catch (error) {
    throw new ConfigError(option, `${problem}: ${messageOf(error)}`)
  }
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}
