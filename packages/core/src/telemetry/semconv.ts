/**
 * Names of spans, attributes and metrics, with their meanings. `npm run docs:telemetry` generates `docs/telemetry.md` from this file.
 * `gen_ai.*`: OpenTelemetry GenAI semantic conventions of October 2026, in development. They are copied, because the published package has
 * them only under `/incubating`, which is not for libraries. `meanwhile.*`: our own; durations are in seconds.
 *
 * The format of a span is `span · kind · parent · from when to when`. An attribute has `spans · meaning`, with `later` after the spans that
 * do not start with it, so that samplers do not see it. A metric has `kind · unit · attributes · meaning`; `chat` stands for the six of a model call in scripts/telemetry-page.ts.
 */

export const SCOPE = '@meanwhile/core'
/** Replaces a name that would be content or does not exist. */
export const OTHER = '_OTHER'

/**
 * span · INTERNAL · the span that is active when the run is called; for an agent as a tool, that call's span · `{agent}` follows if the
 * agent has a name. It begins with the run. It ends when the result is known and all its calls have ended, except background calls that it
 * has handed over. A resumed run has a link to the one that was interrupted, and a run of `agent.begin` to the span that was active there.
 */
export const INVOKE_AGENT = 'invoke_agent'
/**
 * span · CLIENT, or INTERNAL for a model in this process · the innermost `wrapModel`, otherwise the innermost `wrapAgent`, otherwise the
 * run; for `run.callModel` its caller · One attempt of a model call; `{model}` follows. From the request until its stream has arrived
 * completely, has failed or is cancelled, whether it is read or not.
 */
export const CHAT = 'chat'
/**
 * span · INTERNAL · the innermost `wrapToolCall`, otherwise the innermost `wrapAgent`, otherwise the run; for a call that a tool makes, that
 * tool's span; for a tool outside of a run, the active span; for an early call in the loop of another library, the span that is active when
 * its model is called · One execution of a call; `{tool}` follows if there is such a tool. It begins when the call gets a slot, and ends when the
 * function returns or throws. It has links to the `chat` spans that requested it. It is exported when its call is committed or discarded.
 */
export const EXECUTE_TOOL = 'execute_tool'
/**
 * span · INTERNAL · the next outer wrap, otherwise the run · A hook or wrap; `{name} {hook}` follows. It lasts as long as the hook or wrap runs. The
 * option `telemetry: { middleware }` selects which of them have a span, and its parent: see below.
 */
export const MIDDLEWARE = 'middleware'

/** span · INTERNAL · the run; for the check of a call, its `wrapToolCall` · One check of `guard()`; `{guard}` follows, its name. It lasts until the verdict. */
export const GUARD = 'guard'

type Int = number
type Double = number

/** All attributes. The code that sets them writes out their names: an object with computed keys takes ten times as long to build. */
interface AttributeTypes {
  /** run, chat, tool · The first word of the span's name. */
  'gen_ai.operation.name': string
  /** run, tool · The agent's name, if it has one. */
  'gen_ai.agent.name': string
  /** run, chat, tool · The conversation, if the caller or the checkpoint named one. The span of a resumed run gets that of the checkpoint after its start. */
  'gen_ai.conversation.id': string
  /** run, chat · The model's provider; for a run, that of the agent's own model. */
  'gen_ai.provider.name': string
  /** run, chat · The requested model; for a run, the agent's own model. */
  'gen_ai.request.model': string
  /** chat · Always `true`. */
  'gen_ai.request.stream': boolean
  /** chat, later · The setting `maxTokens`. */
  'gen_ai.request.max_tokens': Int
  /** chat, later · The setting `temperature`. */
  'gen_ai.request.temperature': Double
  /** chat, later · The setting `topP`. */
  'gen_ai.request.top_p': Double
  /** chat, later · The setting `topK`. */
  'gen_ai.request.top_k': Double
  /** chat, later · The setting `frequencyPenalty`. */
  'gen_ai.request.frequency_penalty': Double
  /** chat, later · The setting `presencePenalty`. */
  'gen_ai.request.presence_penalty': Double
  /** chat, later · The setting `stopSequences`. */
  'gen_ai.request.stop_sequences': string[]
  /** chat, later · The setting `seed`. */
  'gen_ai.request.seed': Int
  /** chat, later · The provider's id of the response. */
  'gen_ai.response.id': string
  /** chat, later · The model that answered, as the provider names it. */
  'gen_ai.response.model': string
  /**
   * run, chat, later · Why the model stopped, in the provider's own words if they are known; `error` if a reason was expected and none
   * arrived. For a run: of its answer.
   */
  'gen_ai.response.finish_reasons': string[]
  /** chat, later · From the request to the first event, in seconds. Set when that event arrives. */
  'gen_ai.response.time_to_first_chunk': Double
  /** run, chat, later · Tokens read; for a run the sum, including that before a resume, but only with `usageOnRun: true`. */
  'gen_ai.usage.input_tokens': Int
  /** run, chat, later · Tokens written; for a run as above. */
  'gen_ai.usage.output_tokens': Int
  /** run, chat, later · Tokens read from the provider's cache; for a run as above. */
  'gen_ai.usage.cache_read.input_tokens': Int
  /** run, chat, later · Tokens written to the provider's cache; for a run as above. */
  'gen_ai.usage.cache_write.input_tokens': Int
  /** run, chat, later · Tokens written while reasoning; for a run as above. */
  'gen_ai.usage.reasoning.output_tokens': Int
  /** run, chat, later · Content: the instructions, as JSON. */
  'gen_ai.system_instructions': string
  /** run, chat, later · Content: the messages that are sent, as JSON; for a run its input. */
  'gen_ai.input.messages': string
  /** run, chat, later · Content: the model's response, as JSON; for a run its answer. */
  'gen_ai.output.messages': string
  /** chat, later · Content: the tools that the model receives, as JSON. */
  'gen_ai.tool.definitions': string
  /** tool · The tool's name; `_OTHER` if there is no such tool, because the model made up the name. */
  'gen_ai.tool.name': string
  /** tool, later · The id of the call. */
  'gen_ai.tool.call.id': string
  /** tool, later · Always `function`. */
  'gen_ai.tool.type': string
  /** tool, later · Content: the arguments, as JSON. */
  'gen_ai.tool.call.arguments': string
  /** tool, later · Content: the result, as JSON. */
  'gen_ai.tool.call.result': string
  /** chat · The server that receives the request, if the adapter knows it. */
  'server.address': string
  /** chat · The port of the server. */
  'server.port': Int
  /**
   * run, chat, tool, middleware, later · Why the span's status is ERROR. For a chat the HTTP status, or the status that corresponds to an
   * error inside the stream; without one `connection`, `finish_reason_error`, `idle_timeout`, `invalid_call_id`, `invalid_chunk`,
   * `stream_restarted`, `stream_truncated` (no finish reason arrived) or `unsupported_call`. For a tool `invalid_input`, `unknown_tool` or
   * `compensation_failed`. For a chat or tool that exceeded a time limit `timeout`. Otherwise the name of the error's class. `_OTHER` if the error
   * has another name than its class, if no `Error` was thrown, and for any other code of a provider (`data` of the `ModelError` has it).
   */
  'error.type': string
  /** event · Content: the message of an exception. */
  'exception.message': string
  /** run · The id of the run. It stays the same after a resume. */
  'meanwhile.run.id': string
  /** run · Whether it continues from a checkpoint. */
  'meanwhile.run.resumed': boolean
  /** run · The names of its middleware, outermost first. */
  'meanwhile.middleware.order': string[]
  /**
   * run, chat, tool, middleware, later · The outcome. For a run and a chat `completed`, `failed`, `cancelled`, `interrupted`; for a tool
   * `committed` (its call's result counts), `failed`, `discarded`, `cancelled`, `interrupted`, `abandoned` (its function was still running
   * when nothing waited for it any more). For a wrap only if it answered without `next`.
   */
  'meanwhile.outcome': string
  /** chat, tool, middleware, later · The step, from 1. */
  'meanwhile.step.index': Int
  /** run, later · The number of steps, including those before a resume. */
  'meanwhile.step.count': Int
  /** chat, tool, later · For a chat the number of the attempt in its step, for a tool the number of the execution of its call, from 1. */
  'meanwhile.attempt': Int
  /** tool, later · The effect of the call: `read`, `idempotent`, `reversible`, `external`, `calls`. Set once its input is checked. */
  'meanwhile.tool.effect': string
  /** tool, later · `early`: dispatched before its model call had succeeded; it may then have waited for a slot. `after_model`: afterwards. */
  'meanwhile.dispatch.mode': string
  /**
   * tool, later · What was known when it could start: `prefix` (the arguments that its tool needs), `closed` (all arguments, but they may still
   * change), `sealed` (the arguments cannot change), `model_stood` (its model call has succeeded).
   */
  'meanwhile.dispatch.evidence': string
  /**
   * tool, later · Why it did not start early, or not sooner: `effect`, `approval`, `conflict`, `order` (one slot), `invalid`, `schema`,
   * `background`, `last_step`, `breaker`, `budget`, `policy`, `off`.
   */
  'meanwhile.dispatch.deferral_reason': string
  /** tool, later · With `conflict` and `order`: the id of the call that it waited for. */
  'meanwhile.dispatch.waited_for': string
  /** tool, later · From complete arguments to the evidence for its early start, or else to the end of the stream, in seconds; may be below 0. */
  'meanwhile.arguments.closed': Double
  /** tool, later · For a call that started with a part of its arguments: how long it waited for the others, in seconds. */
  'meanwhile.rest.waited': Double
  /** tool, later · From the start of the span until the function has settled, in seconds. Set then, while the span waits for the fate of its call. */
  'meanwhile.tool.duration': Double
  /** tool, later · For an early one that settled before its call was committed or discarded: how long it waited for that, in seconds. The undo of a discarded one counts. */
  'meanwhile.commit.lag': Double
  /** tool, later · For a call that needed approval: `allow`, or `edit` if it runs with another input. */
  'meanwhile.approval.decision': string
  /** tool, later · Who decided that. Only with `captureContent`. */
  'meanwhile.approval.by': string
  /** tool, later · From the evidence to the function's start, in seconds. For a call's first execution. */
  'meanwhile.dispatch.lag': Double
  /** tool, later · How long it waited for a slot, in seconds. */
  'meanwhile.dispatch.queued': Double
  /** tool, later · For an early one: from its start to the end of the model's stream, in seconds; never below 0. */
  'meanwhile.head_start': Double
  /** tool, later · For an early one: how long it worked while the model streamed, in seconds, without waits for its input. */
  'meanwhile.overlap': Double
  /**
   * tool, middleware, later · Why its call was discarded: `arguments_changed`, `call_withdrawn`, `stream_error`,
   * `stream_truncated` (no finish reason, or one that forbids calls), `run_aborted`.
   */
  'meanwhile.discard.reason': string
  /** tool, later · Only `false`: the span was closed while the function was still running. */
  'meanwhile.settled': boolean
  /** tool, later · Whether a discarded call that had succeeded was undone. */
  'meanwhile.compensated': boolean
  /** run, chat, later · How many calls were dispatched before their model call had succeeded. */
  'meanwhile.tool_calls.early': Int
  /** run, later · How many of these early calls were committed. */
  'meanwhile.tool_calls.committed': Int
  /** run, later · How many of these early calls were discarded. */
  'meanwhile.tool_calls.discarded': Int
  /** run, later · How many calls got their results from the checkpoint. */
  'meanwhile.tool_calls.reused': Int
  /** run, later · How many calls have no known result and may have happened: an earlier process had started them, or their tool threw `OutcomeUnknownError`. */
  'meanwhile.tool_calls.unknown': Int
  /** run, later · The time that early starts have saved, as in `result.savings` of `@meanwhile/eager-tools`, in seconds; may be below 0. */
  'meanwhile.time_saved': Double
  /** run, later · The same for each step in which the model was called, in order. */
  'meanwhile.time_saved.steps': Double[]
  /** run, later · How many calls could run at the same time; absent without a limit. Only with `eagerTools()`. */
  'meanwhile.tool_concurrency': Int
  /** run, later · How long discarded calls have run, according to `result.savings`, in seconds. */
  'meanwhile.time_wasted': Double
  /** middleware, later · Its name. */
  'meanwhile.middleware.name': string
  /** middleware, later · The hook or wrap: `beforeModel`, `wrapModel` … */
  'meanwhile.middleware.hook': string
  /** middleware, later · For a wrap: how often it called `next`; 0 if it answered without it, 2 or more if it tried again. */
  'meanwhile.middleware.next_calls': Int
  /** middleware, later · For `beforeFinalAnswer`: `accept` or `reject`. */
  'meanwhile.middleware.verdict': string
  /** guard, later · The name of the guard. */
  'meanwhile.guard.name': string
  /** guard, later · What was checked: `input`, `output` or `tool`. */
  'meanwhile.guard.place': string
  /** guard, later · `pass`, `fail`, or `error` if the check threw, took too long or returned no verdict. */
  'meanwhile.guard.verdict': string
  /** guard, later · How long a response that had ended, or a call, waited for nothing but this check, in seconds. */
  'meanwhile.guard.held': Double
  /** metrics · Always `unknown`: counts are not split by modality. */
  'gen_ai.token.modality': string
}

/** Any of the attributes. `undefined` means absent, as in the API. */
export type SemanticAttributes = { readonly [Name in keyof AttributeTypes]?: AttributeTypes[Name] | undefined }

/** histogram · s · chat, error.type · How long a `chat` span lasted. */
export const INFERENCE_DURATION = 'gen_ai.client.inference.duration'
/** histogram · s · chat · From the request to the first event. */
export const INFERENCE_FIRST_CHUNK = 'gen_ai.client.inference.time_to_first_chunk'
/** counter · {token} · chat, gen_ai.token.modality · Tokens read. An attempt that reports none adds 0. */
export const INFERENCE_INPUT_TOKENS = 'gen_ai.client.inference.usage.input_tokens'
/** counter · {token} · chat, gen_ai.token.modality · Tokens written. */
export const INFERENCE_OUTPUT_TOKENS = 'gen_ai.client.inference.usage.output_tokens'
/** counter · {token} · chat, gen_ai.token.modality · The part of the tokens read that came from the provider's cache. */
export const INFERENCE_CACHE_READ_TOKENS = 'gen_ai.client.inference.usage.cache_read.input_tokens'
/** counter · {token} · chat, gen_ai.token.modality · The part of the tokens read that was written to the provider's cache. */
export const INFERENCE_CACHE_WRITE_TOKENS = 'gen_ai.client.inference.usage.cache_write.input_tokens'
/** counter · {token} · chat, gen_ai.token.modality · The part of the tokens written that is reasoning. */
export const INFERENCE_REASONING_TOKENS = 'gen_ai.client.inference.usage.reasoning.output_tokens'
/** histogram · s · gen_ai.tool.name, gen_ai.tool.type, gen_ai.agent.name, error.type, meanwhile.outcome · How long an `execute_tool` span lasted. */
export const EXECUTE_TOOL_DURATION = 'gen_ai.execute_tool.duration'
/** histogram · s · gen_ai.agent.name, gen_ai.request.model, error.type · How long an `invoke_agent` span lasted. Has the model if the run called only one. */
export const INVOKE_AGENT_DURATION = 'gen_ai.invoke_agent.duration'
/** histogram · {inference_call} · gen_ai.agent.name · The model attempts of the run, including failed ones and side calls. */
export const INVOKE_AGENT_INFERENCE_CALLS = 'gen_ai.invoke_agent.inference_calls'
/** histogram · {tool_call} · gen_ai.agent.name · The tool calls of the accepted responses, including failed ones. Early starts do not change it. */
export const INVOKE_AGENT_TOOL_CALLS = 'gen_ai.invoke_agent.tool_calls'
/** counter · {tool_call} · gen_ai.tool.name, meanwhile.dispatch.mode, meanwhile.outcome · Calls that were executed or answered by a wrap. */
export const TOOL_CALLS = 'meanwhile.tool_calls'
/** histogram · s · gen_ai.tool.name, gen_ai.agent.name · The head start of the first executions of early calls that were not discarded. */
export const HEAD_STARTS = 'meanwhile.head_start'
/** histogram · s · gen_ai.tool.name, meanwhile.dispatch.evidence · From the evidence for a call to the first start of its function. */
export const DISPATCH_LAGS = 'meanwhile.dispatch.lag'
