/**
 * The parts of the AI SDK's options, tools, models and events that `eager()` reads. Everything else is passed on
 * unchanged.
 */

export interface SdkOptions {
  readonly model?: SdkModel | string
  readonly tools?: Readonly<Record<string, SdkTool>>
  readonly toolApproval?: unknown
  readonly toolCallConcurrency?: number
  readonly timeout?: number | ToolTimeouts
  readonly experimental_refineToolInput?: object
  readonly onStepStart?: Callback<StepStart>
  readonly experimental_onStepStart?: Callback<StepStart>
  readonly onLanguageModelCallStart?: Callback<ModelCallStart>
  readonly experimental_onLanguageModelCallStart?: Callback<ModelCallStart>
  readonly onStepEnd?: Callback<CallEvent>
  readonly onStepFinish?: Callback<CallEvent>
  readonly onEnd?: Callback<CallEvent>
  readonly onFinish?: Callback<CallEvent>
  readonly onAbort?: Callback<CallEvent>
  readonly onStepError?: Callback<CallEvent>
  readonly prepareStep?: (step: StepToPrepare) => MaybePromise<Prepared | undefined>
  readonly prepareCall?: (call: SdkOptions) => MaybePromise<SdkOptions | undefined>
}

export type MaybePromise<Value> = Value | PromiseLike<Value>
export type Callback<Event> = (event: Event) => unknown

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
  readonly messages: object
  readonly tools?: Readonly<Record<string, SdkTool>>
  readonly toolsContext?: Readonly<Record<string, unknown>>
  readonly toolChoice?: unknown
}

export interface ModelCallStart extends CallEvent {
  /** The same array is passed to the model. */
  readonly tools?: object
}

export interface StepToPrepare {
  readonly model: SdkModel | string
  readonly messages: object
  readonly experimental_sandbox?: unknown
}

export interface Prepared {
  readonly model?: SdkModel | string
  readonly messages?: object
  readonly experimental_sandbox?: unknown
}

export interface SdkTool {
  readonly inputSchema?: Schema
  readonly contextSchema?: Schema
  readonly needsApproval?: unknown
  readonly onInputAvailable?: unknown
  readonly deferLoading?: unknown
  execute?(input: unknown, options: ToolAsked): unknown
}

/** A schema that `asSchema` accepts. */
export type Schema = Parameters<typeof import('ai').asSchema>[0]

/** The options passed to `execute`. */
export interface ToolAsked {
  readonly toolCallId: string | undefined
  readonly messages: object
  readonly abortSignal?: AbortSignal | undefined
  readonly context?: unknown
  readonly experimental_sandbox?: unknown
}

export interface SdkModel {
  readonly provider: string
  readonly modelId: string
  doStream(request: ModelRequest): PromiseLike<StreamedAnswer>
  doGenerate(request: ModelRequest): PromiseLike<unknown>
}

export interface ModelRequest {
  readonly tools?: readonly RequestTool[]
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
