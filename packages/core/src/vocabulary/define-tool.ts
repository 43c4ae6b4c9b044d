/** Defines `tool`, its types and checks, and how a tool is described to a model. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { branded } from './brand.ts'
import type { Effect } from './effect.ts'
import { ConfigError } from './errors.ts'
import type { ToolDefinition } from './model.ts'
import { checkOptions, nearestName, type OptionNames } from './option-checks.ts'
import type { HasContext, Method, NeedsContext, Tool, ToolContext } from './tool.ts'
import { type JsonSchema, jsonSchemaOf } from './tool-schema.ts'
import type { Progress } from './tool-status.ts'

/** The options of {@link tool} for a tool with `execute`. With `needs`, even if it is empty, `execute` gets those members and the rest. */
export interface ToolOptions<
  Input,
  Output,
  Needs extends readonly (keyof Input)[] | undefined = undefined,
  Warmed = unknown,
  Does = Effect | Method<Input, Effect>,
  Context = unknown,
  Given = unknown,
> extends Omit<Tool<Input, Output, Warmed>, 'effect' | 'needs' | 'context' | 'execute'> {
  readonly effect?: Does
  readonly needs?: Needs
  readonly context?: StandardSchemaV1<Given, Context>
  execute(
    input: [Needs] extends [undefined] ? Input : Pick<Input, NonNullable<Needs>[number]>,
    context: ([Needs] extends [undefined] ? ToolContext<Warmed> : NeedsContext<Input, Warmed>) &
      (unknown extends Context ? unknown : HasContext<Context>),
  ): Output | Promise<Output> | AsyncGenerator<Progress, Output>
}

// Types, not interfaces: a declaration file of a user writes out these types, because it cannot name types that are not exported.
type NoNeeds = { readonly needs?: undefined }

type NeedsPart<Context, Given> = { readonly context: StandardSchemaV1<Given, Context> }

// In a list of tools, the compiler would drop those with a context if their types extended that of another tool.
type NoContext = { readonly context?: never }

/** A tool with `execute`. The caller of the run executes a tool without it. */
export type ExecutedTool<Input = unknown, Output = unknown, Warmed = unknown> = Tool<Input, Output, Warmed> &
  Required<Pick<Tool<Input, Output, Warmed>, 'execute'>>

type NoExecute = { readonly execute?: undefined }

/** Names that other libraries have. The type error tells the user what to write. */
type OtherWords = {
  /** @deprecated */ readonly inputSchema?: 'tool() has no inputSchema: write input'
  /** @deprecated */ readonly parameters?: 'tool() has no parameters: write input'
  /** @deprecated */ readonly outputSchema?: 'tool() has no outputSchema: write output'
  /** @deprecated */ readonly toModelOutput?: 'tool() has no toModelOutput: write toContent'
  /** @deprecated */ readonly needsApproval?: 'tool() has no needsApproval: use the middleware approve()'
}

/** What a tool with the effect `reversible` must have. {@link Tool} has the types. */
interface Reversible {
  readonly compensate: unknown
}

/**
 * Defines a tool and infers the types of its input and output. Returns the definition itself.
 *
 * @throws {ConfigError} A member is not an option of a tool. `createAgent` checks the rest.
 */
export function tool<Input, Output = unknown>(
  definition: Tool<Input, Output> & NoNeeds & NoExecute & OtherWords,
): Tool<Input, Output> & NoNeeds & NoExecute

// This overload is last because the compiler reports the error of the last one.
export function tool<
  Input,
  Output,
  const Needs extends readonly (keyof Input & string)[] | undefined = undefined,
  Warmed = unknown,
  // Written out, so that the compiler's error lists the effects.
  const Does extends 'read' | 'idempotent' | 'reversible' | 'external' | 'calls' | Method<Input, Effect> =
    | Effect
    | Method<Input, Effect>,
  Context = unknown,
  Given = unknown,
>(
  definition: ToolOptions<Input, Output, Needs, Warmed, Does, Context, Given> &
    OtherWords &
    ([Does] extends ['reversible'] ? Reversible : unknown),
): ExecutedTool<Input, Output, Warmed> &
  ([Needs] extends [undefined] ? NoNeeds : unknown) &
  (unknown extends Context ? NoContext : NeedsPart<Context, Given>)

export function tool<Definition extends object>(definition: Definition): Definition {
  checkToolOptions(definition)
  return branded('tool', definition)
}

const TOOL_OPTIONS: OptionNames<Tool> = {
  name: '',
  description: '',
  input: 'inputSchema parameters schema args',
  effect: '',
  reads: '',
  writes: '',
  needs: '',
  context: 'contextSchema',
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

/** Whether a member is unknown, and similar to an option that the tool has not set. */
export function lacksNearest(definition: object, member: string): boolean {
  const nearest = member in TOOL_OPTIONS ? undefined : nearestName(member, TOOL_OPTIONS)
  return nearest !== undefined && !(nearest in definition)
}

/** @throws {ConfigError} A member is not an option of a tool. */
export function checkToolOptions(definition: object): void {
  const { name } = definition as Partial<Tool>
  checkOptions<Tool>('tool', definition as Tool, TOOL_OPTIONS, typeof name === 'string' ? `tools.${name}.` : '')
}

/** Returns the description of the tool for a model. Throws {@link ConfigError} if its schema has no JSON Schema, or does not accept an object. */
export function definitionOf(tool: Tool): ToolDefinition {
  return { name: tool.name, description: tool.description, inputSchema: inputSchemaOf(tool) }
}

/** Returns the JSON Schema of the tool's input. Throws as {@link definitionOf}. */
export function inputSchemaOf({ name, input }: Tool): JsonSchema {
  const inputSchema = jsonSchemaOf(input, 'tools', name)
  const { anyOf, oneOf = anyOf } = inputSchema
  if (isNoObject(inputSchema) || (Array.isArray(oneOf) && oneOf.every(isNoObject)))
    throw new ConfigError('tools', `the input of ${name} must be the schema of an object`)
  return inputSchema
}

const isNoObject = (form: JsonSchema | null): boolean => !form || (form.type ?? 'object') !== 'object'
