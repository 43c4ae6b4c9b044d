/**
 * Names of spans, attributes and metrics, and what they say: `docs/telemetry.md` is made of this file, by
 * `npm run docs:telemetry`. `gen_ai.*`: OpenTelemetry GenAI semantic conventions 1.41 (May 2026), in development, with the
 * metrics as they are named since October 2026; copied, because the published package has them only under `/incubating`,
 * which is not for libraries. `meanwhile.*`: ours; durations are in seconds.
 *
 * Of a span: `span · kind · parent · from when to when`. Of an attribute: `spans · meaning`, with `later` behind the spans that do
 * not start with it, so that samplers do not see it. Of a metric: `kind · unit · attributes · meaning`.
 */

export const SCOPE = '@meanwhile/core'
/** Held equal to the version in `package.json` by a test. */
export const VERSION = '0.1.0'
/** What stands where a name would be content, or there is none. */
export const OTHER = '_OTHER'

/**
 * span · INTERNAL · what is active when the run is called; of an agent as a tool, that call's span · `{agent}` is behind it if
 * the agent has a name. The run starts → its result is known and nothing of it is at work but background calls it has handed
 * over. A resumed run links to the one that was interrupted.
 */
export const INVOKE_AGENT = 'invoke_agent'
/**
 * span · CLIENT, or INTERNAL of a model in this process · the innermost `wrapModel`, else the innermost `wrapAgent`, else the run; of
 * `run.callModel` whoever called it · One attempt of a model call; `{model}` is behind it. The request is issued → its stream is
 * fully received, failed or cancelled, read by anybody or not.
 */
export const CHAT = 'chat'
/**
 * span · INTERNAL · the innermost `wrapToolCall`, else the innermost `wrapAgent`, else the run; of a call that a tool makes, that tool's span; of a tool
 * outside of a run, what is active; of an early call in the loop of another library, what is active when its model is asked · One execution of a call; `{tool}` is behind it if there is such a tool. It has its slot →
 * its function has settled. Links to the `chat` spans that asked for it. It is exported when the fate of its call is known.
 */
export const EXECUTE_TOOL = 'execute_tool'
/**
 * span · INTERNAL · the next outer wrap, else the run · A hook or wrap; `{name} {hook}` is behind it. Its first step → its
 * last.
 */
export const MIDDLEWARE = 'middleware'

type Int = number
type Double = number

/** What may be on a span or a metric. Written out where it is used: an object whose keys are constants is built ten times as slowly. */
interface AttributeTypes {
  /** run, chat, tool · The first word of the span's name. */
  'gen_ai.operation.name': string
  /** run, tool · The agent's name, if it has one. */
  'gen_ai.agent.name': string
  /** run, chat · The conversation, if the caller named one. */
  'gen_ai.conversation.id': string
  /** run, chat · The model's provider; of a run that of the model it was made with. */
  'gen_ai.provider.name': string
  /** run, chat · The model that is asked; of a run the one it was made with. */
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
  'gen_ai.request.top_k': Int
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
   * run, chat, later · Why the model stopped, in the provider's own word if it is known; `error` if a reason was due and none
   * came. Of a run: of its answer.
   */
  'gen_ai.response.finish_reasons': string[]
  /** chat, later · From the request to the first event, in seconds. */
  'gen_ai.response.time_to_first_chunk': Double
  /**
   * run, chat, later · Tokens read; of a run the sum, that before a resume included, which `usageOnRun: false` leaves out.
   */
  'gen_ai.usage.input_tokens': Int
  /** run, chat, later · Tokens written; of a run the sum. */
  'gen_ai.usage.output_tokens': Int
  /** run, chat, later · Tokens read from the provider's cache; of a run the sum. */
  'gen_ai.usage.cache_read.input_tokens': Int
  /** run, chat, later · Tokens written to the provider's cache; of a run the sum. */
  'gen_ai.usage.cache_creation.input_tokens': Int
  /** run, chat, later · Tokens written while reasoning; of a run the sum. */
  'gen_ai.usage.reasoning.output_tokens': Int
  /** run, chat, later · Content: the instructions, as JSON. */
  'gen_ai.system_instructions': string
  /** run, chat, later · Content: the messages that are sent, as JSON; of a run its input. */
  'gen_ai.input.messages': string
  /** run, chat, later · Content: what the model says, as JSON; of a run its answer. */
  'gen_ai.output.messages': string
  /** chat, later · Content: the tools the model is told of, as JSON. */
  'gen_ai.tool.definitions': string
  /** tool · The tool's name; `_OTHER` if there is no such tool, as the word is the model's. */
  'gen_ai.tool.name': string
  /** tool, later · The id of the call. */
  'gen_ai.tool.call.id': string
  /** tool, later · Always `function`. */
  'gen_ai.tool.type': string
  /** tool, later · Content: the arguments, as JSON. */
  'gen_ai.tool.call.arguments': string
  /** tool, later · Content: the result, as JSON. */
  'gen_ai.tool.call.result': string
  /** chat · Where the request goes, if the adapter knows. */
  'server.address': string
  /** chat · The port there. */
  'server.port': Int
  /**
   * run, chat, tool, middleware, later · Why the span's status is ERROR. Of a chat the HTTP status, or the one that an error inside
   * the stream stands for; without one `connection`, `finish_reason_error`, `idle_timeout`, `invalid_call_id`, `invalid_chunk`,
   * `stream_restarted`, `stream_truncated` (no finish reason came) or `unsupported_call`. Of a tool `invalid_input`, `unknown_tool` or
   * `compensation_failed`. Of both `timeout` past a limit of their own: of a model call, of its silence, of the tool. Else the name of
   * the error's class. `_OTHER` where there is no error, or its name is not that of its class, and for any other code of a provider,
   * which is in `data` of the `ModelError`.
   */
  'error.type': string
  /** event · Content: the message of an exception. */
  'exception.message': string
  /** run · The id of the run. A resumed run keeps it. */
  'meanwhile.run.id': string
  /** run · Whether it goes on from a checkpoint. */
  'meanwhile.run.resumed': boolean
  /** run · The names of its middleware, outermost first. */
  'meanwhile.middleware.order': string[]
  /**
   * run, chat, tool, middleware, later · What came of it. Of a run and a chat `completed`, `failed`, `cancelled`, `interrupted`;
   * of a tool `committed` (its call's result stands), `failed`, `discarded`, `cancelled`, `interrupted`, `abandoned` (its
   * function went on when it was no longer waited for). Of a wrap only if it answered without `next`.
   */
  'meanwhile.outcome': string
  /** chat, tool, middleware, later · The step, from 1. */
  'meanwhile.step.index': Int
  /** run, later · How many steps there were, before a resume, too. */
  'meanwhile.step.count': Int
  /** chat, tool, later · The how-manieth attempt of its step, or execution of its call, from 1. */
  'meanwhile.attempt': Int
  /**
   * tool, later · What the call does: `read`, `idempotent`, `reversible`, `external`, `calls`. Known once its input is checked.
   */
  'meanwhile.tool.effect': string
  /**
   * tool, later · `early`: asked for before its model call had stood. `after_model`: when the loop asks for the calls.
   */
  'meanwhile.dispatch.mode': string
  /**
   * tool, later · What its start stood on: `prefix` (the arguments its tool needs), `closed` (all, but they may yet change),
   * `sealed` (they cannot change), `model_stood`.
   */
  'meanwhile.dispatch.evidence': string
  /**
   * tool, later · Why it did not start early, or not sooner: `effect`, `approval`, `conflict`, `order` (one slot), `invalid`,
   * `background`, `last_step`, `breaker`, `budget`, `policy`, `off`.
   */
  'meanwhile.dispatch.deferral_reason': string
  /** tool, later · From the evidence to the function's start, in seconds. Of a call's first execution. */
  'meanwhile.dispatch.lag': Double
  /** tool, later · How long it waited for a slot, in seconds. */
  'meanwhile.dispatch.queued': Double
  /** tool, later · Of an early one: from its start to the end of the model's stream, in seconds; never below 0. */
  'meanwhile.head_start': Double
  /**
   * tool, later · Of an early one: how long it worked while the model streamed, in seconds, without what it waited for the rest of its
   * input. Of a lone call the time saved.
   */
  'meanwhile.overlap': Double
  /**
   * tool, middleware, later · Why its call was discarded: `arguments_changed`, `call_withdrawn`, `stream_error`,
   * `stream_truncated` (no finish reason, or one that forbids calls), `run_aborted`.
   */
  'meanwhile.discard.reason': string
  /** tool, later · Only `false`: the span was closed while the function still ran. */
  'meanwhile.settled': boolean
  /** tool, later · Whether a discarded call that had happened was undone. */
  'meanwhile.compensated': boolean
  /** run, chat, later · Calls that were made before their model call had stood. */
  'meanwhile.tool_calls.early': Int
  /** run, later · Those of them that the loop asked for in the end. */
  'meanwhile.tool_calls.committed': Int
  /** run, later · Those of them that were let go of. */
  'meanwhile.tool_calls.discarded': Int
  /** run, later · Calls of the checkpoint whose results were taken from it. */
  'meanwhile.tool_calls.reused': Int
  /** run, later · Calls that an earlier process had started and that may have happened. */
  'meanwhile.tool_calls.unknown': Int
  /**
   * run, later · What early starts have saved, by the savings of `@meanwhile/eager-tools`, in seconds; may be below 0.
   */
  'meanwhile.time_saved': Double
  /** run, later · How long discarded calls have run, by the same, in seconds. */
  'meanwhile.time_wasted': Double
  /** middleware, later · Its name. */
  'meanwhile.middleware.name': string
  /** middleware, later · The hook or wrap: `beforeModel`, `wrapModel` … */
  'meanwhile.middleware.hook': string
  /** middleware, later · Of a wrap: how often it called `next`; 0 if it answered itself, 2 and more if it tried again. */
  'meanwhile.middleware.next_calls': Int
  /** middleware, later · Of `beforeFinalAnswer`: `accept` or `reject`. */
  'meanwhile.middleware.verdict': string
  /** metrics · Always `unknown`: no provider's counts are split by it here. */
  'gen_ai.token.modality': string
}

/** Any of them; one that is `undefined` is none, as the API has it. */
export type SemanticAttributes = { readonly [Name in keyof AttributeTypes]?: AttributeTypes[Name] | undefined }

/**
 * histogram · s · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, error.type · How long a `chat` span lasted.
 */
export const INFERENCE_DURATION = 'gen_ai.client.inference.duration'
/**
 * histogram · s · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port · From the request to the first event.
 */
export const INFERENCE_FIRST_CHUNK = 'gen_ai.client.inference.time_to_first_chunk'
/**
 * counter · {token} · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, gen_ai.token.modality · Tokens read. An attempt that reports none adds 0.
 */
export const INFERENCE_INPUT_TOKENS = 'gen_ai.client.inference.usage.input_tokens'
/**
 * counter · {token} · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, gen_ai.token.modality · Tokens written.
 */
export const INFERENCE_OUTPUT_TOKENS = 'gen_ai.client.inference.usage.output_tokens'
/**
 * counter · {token} · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, gen_ai.token.modality · Those of the tokens read that came from the provider's cache.
 */
export const INFERENCE_CACHE_READ_TOKENS = 'gen_ai.client.inference.usage.cache_read.input_tokens'
/**
 * counter · {token} · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, gen_ai.token.modality · Those of the tokens read that went into the provider's cache.
 */
export const INFERENCE_CACHE_WRITE_TOKENS = 'gen_ai.client.inference.usage.cache_write.input_tokens'
/**
 * counter · {token} · gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model, server.address,
 * server.port, gen_ai.token.modality · Those of the tokens written that are reasoning.
 */
export const INFERENCE_REASONING_TOKENS = 'gen_ai.client.inference.usage.reasoning.output_tokens'
/**
 * histogram · s · gen_ai.tool.name, gen_ai.tool.type, gen_ai.agent.name, error.type, meanwhile.outcome · How long an
 * `execute_tool` span lasted.
 */
export const EXECUTE_TOOL_DURATION = 'gen_ai.execute_tool.duration'
/**
 * histogram · s · gen_ai.agent.name, gen_ai.request.model, error.type · How long an `invoke_agent` span lasted. The model is
 * there if the run asked only one.
 */
export const INVOKE_AGENT_DURATION = 'gen_ai.invoke_agent.duration'
/**
 * histogram · {inference_call} · gen_ai.agent.name · The run's model attempts, failed ones and those on the side included.
 */
export const INVOKE_AGENT_INFERENCE_CALLS = 'gen_ai.invoke_agent.inference_calls'
/**
 * histogram · {tool_call} · gen_ai.agent.name · The tool calls of the responses that stood, failed ones included; so it is the
 * same with early starts and without.
 */
export const INVOKE_AGENT_TOOL_CALLS = 'gen_ai.invoke_agent.tool_calls'
/**
 * counter · {tool_call} · gen_ai.tool.name, meanwhile.dispatch.mode, meanwhile.outcome · Calls that were executed, or answered by
 * a wrap, once each.
 */
export const TOOL_CALLS = 'meanwhile.tool_calls'
/**
 * histogram · s · gen_ai.tool.name, gen_ai.agent.name · The head start of calls that started early and were not discarded, by
 * their first execution.
 */
export const HEAD_STARTS = 'meanwhile.head_start'
/**
 * histogram · s · gen_ai.tool.name, meanwhile.dispatch.evidence · From the evidence for a call to the start of its function, its
 * first time.
 */
export const DISPATCH_LAGS = 'meanwhile.dispatch.lag'
