/**
 * The parts of the AI SDK's options, tools, models and events that `eager()` reads. Everything else is passed on
 * unchanged.
 */

export interface SdkOptions {
  readonly model?: SdkModel | string
  readonly tools?: SdkTools
  readonly toolApproval?: unknown
  readonly toolCallConcurrency?: number
  readonly streamRetries?: number
  readonly timeout?: number | ToolTimeouts
  readonly experimental_refineToolInput?: object
  readonly onStart?: Callback<CallEvent>
  readonly experimental_onStart?: Callback<CallEvent>
  readonly onStepStart?: Callback<StepStart>
  readonly experimental_onStepStart?: Callback<StepStart>
  readonly onLanguageModelCallStart?: Callback<CallEvent>
  readonly experimental_onLanguageModelCallStart?: Callback<CallEvent>
  readonly onStepEnd?: Callback<StepEnd>
  readonly onStepFinish?: Callback<StepEnd>
  readonly onEnd?: Callback<RunEnd>
  readonly onFinish?: Callback<RunEnd>
  readonly onAbort?: Callback<RunEnd>
  readonly onStepError?: Callback<CallEvent>
  readonly prepareStep?: PrepareStep
  readonly prepareCall?: (call: SdkOptions) => MaybePromise<SdkOptions | undefined>
}

export type SdkTools = Readonly<Record<string, SdkTool>>
export type MaybePromise<Value> = Value | PromiseLike<Value>
export type Callback<Event> = (event: Event) => unknown
export type PrepareStep = (step: StepToPrepare) => MaybePromise<Prepared | undefined>

export interface ToolTimeouts {
  readonly toolMs?: number
  /** The key is the tool's name followed by `Ms`. */
  readonly tools?: Readonly<Record<string, number | undefined>>
}

/** Any event. `callId` identifies the call of `streamText`, not a tool call. */
export interface CallEvent {
  readonly callId: string
}

export interface StepStart extends CallEvent {
  /** The same array is passed to each tool of the step. */
  readonly messages: Messages
  /** The tools of the options. */
  readonly tools?: SdkTools
  /** The same array is passed to the model as its prompt. */
  readonly promptMessages?: object
}

export interface StepEnd extends CallEvent {
  readonly content?: readonly ContentPart[]
}

export interface ContentPart {
  readonly type: string
  /** That of an approval request. */
  readonly toolCall?: { readonly toolCallId: string; readonly toolName: string }
}

export interface RunEnd extends CallEvent {
  /** The same array as in each {@link StepToPrepare} of the run, except after an error. */
  readonly steps?: readonly StepEnd[]
  /** After an error: those of the step that has failed. */
  readonly messages?: Messages
}

export interface StepToPrepare {
  readonly model: SdkModel | string
  readonly messages: Messages
  /** The steps so far. The same array in each step of a run, and in no other run. */
  readonly steps: readonly StepEnd[]
  readonly toolsContext?: Readonly<Record<string, unknown>>
  readonly experimental_sandbox?: unknown
}

export interface Prepared {
  readonly model?: SdkModel | string
  readonly messages?: Messages
  readonly toolsContext?: Readonly<Record<string, unknown>>
  readonly experimental_sandbox?: unknown
}

export type Messages = readonly { readonly role?: unknown; readonly content?: unknown }[]

/** What the SDK passes to a `toolApproval` function: a call that it would execute. */
export interface ApprovalAsked {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  /** The tools that the SDK executes in this step. */
  readonly tools?: SdkTools
  readonly toolsContext?: Readonly<Record<string, unknown>>
  readonly messages: object
  readonly runtimeContext?: unknown
}

export interface SdkTool {
  readonly inputSchema?: Schema
  readonly contextSchema?: Schema
  /** A function is asked with the input and the call. */
  readonly needsApproval?: unknown
  readonly onInputStart?: unknown
  readonly onInputDelta?: unknown
  readonly onInputAvailable?: unknown
  readonly deferLoading?: unknown
  /** How the tool calls other tools. */
  readonly experimental_toolCaller?: { readonly type: string }
  execute?(input: unknown, options: ToolAsked): unknown
}

/** A schema that `asSchema` accepts. */
export type Schema = Parameters<typeof import('ai').asSchema>[0]

/** The options passed to `execute`. */
export interface ToolAsked {
  readonly toolCallId: string | undefined
  readonly messages: Messages
  readonly abortSignal?: AbortSignal | undefined
  readonly context?: unknown
  readonly experimental_sandbox?: unknown
}

export interface SdkModel {
  readonly specificationVersion?: string
  readonly provider: string
  readonly modelId: string
  doStream(request: ModelRequest): PromiseLike<StreamedAnswer>
  doGenerate(request: ModelRequest): PromiseLike<unknown>
}

export interface ModelRequest {
  readonly prompt?: object
  readonly tools?: readonly RequestTool[]
  readonly toolChoice?: { readonly type: string; readonly toolName?: string }
  readonly abortSignal?: AbortSignal
}

interface RequestTool {
  readonly type: string
  readonly name: string
}

export interface StreamedAnswer {
  readonly stream: ReadableStream<StreamPart>
  readonly request?: object
  readonly response?: object
}

/** A part of a response. Its members depend on its type. */
export interface StreamPart {
  readonly type: string
  readonly id?: string
  readonly delta?: string
  readonly toolName?: string
  readonly toolCallId?: string
  readonly input?: unknown
  readonly providerExecuted?: boolean
  readonly error?: unknown
  /** A string in models of the AI SDK up to version 5. */
  readonly finishReason?: string | { readonly unified: string }
  readonly usage?: unknown
  readonly warnings?: readonly unknown[]
  readonly providerMetadata?: object
}
