/**
 * Names of spans, attributes and metrics, and what they say: `docs/telemetry.md` is made of this file, by
 * `npm run docs:telemetry`. `gen_ai.*`: OpenTelemetry GenAI semantic conventions 1.41 (May 2026), in development, with the
 * metrics as they are named since October 2026; copied, because the published package has them only under `/incubating`,
 * which is not for libraries. `meanwhile.*`: ours; durations are in seconds.
 *
 * Of a span: `span · kind · parent · from when to when`. Of an attribute: `spans · type · meaning`, with `later` behind the
 * type where the span does not start with it, so that samplers do not see it. Of a metric: `kind · unit · attributes · meaning`.
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
 * outside of a run, what is active · One execution of a call; `{tool}` is behind it if there is such a tool. It has its slot →
 * its function has settled. Links to the `chat` spans that asked for it. It is exported when the fate of its call is known.
 */
export const EXECUTE_TOOL = 'execute_tool'
/**
 * span · INTERNAL · the next outer wrap, else the run · A hook or wrap; `{name} {hook}` is behind it. Its first step → its
 * last.
 */
export const MIDDLEWARE = 'middleware'

/** run, chat, tool · string · The first word of the span's name. */
export const OPERATION = 'gen_ai.operation.name'
/** run, tool · string · The agent's name, if it has one. */
export const AGENT_NAME = 'gen_ai.agent.name'
/** run, chat · string · The conversation, if the caller named one. */
export const CONVERSATION_ID = 'gen_ai.conversation.id'
/** run, chat · string · The model's provider; of a run that of the model it was made with. */
export const PROVIDER = 'gen_ai.provider.name'
/** run, chat · string · The model that is asked; of a run the one it was made with. */
export const REQUEST_MODEL = 'gen_ai.request.model'
/** chat · boolean · Always `true`. */
export const REQUEST_STREAM = 'gen_ai.request.stream'
/** chat · int, later · The setting `maxTokens`. */
export const REQUEST_MAX_TOKENS = 'gen_ai.request.max_tokens'
/** chat · double, later · The setting `temperature`. */
export const REQUEST_TEMPERATURE = 'gen_ai.request.temperature'
/** chat · double, later · The setting `topP`. */
export const REQUEST_TOP_P = 'gen_ai.request.top_p'
/** chat · int, later · The setting `topK`. */
export const REQUEST_TOP_K = 'gen_ai.request.top_k'
/** chat · double, later · The setting `frequencyPenalty`. */
export const REQUEST_FREQUENCY_PENALTY = 'gen_ai.request.frequency_penalty'
/** chat · double, later · The setting `presencePenalty`. */
export const REQUEST_PRESENCE_PENALTY = 'gen_ai.request.presence_penalty'
/** chat · string[], later · The setting `stopSequences`. */
export const REQUEST_STOP_SEQUENCES = 'gen_ai.request.stop_sequences'
/** chat · int, later · The setting `seed`. */
export const REQUEST_SEED = 'gen_ai.request.seed'
/** chat · string, later · The provider's id of the response. */
export const RESPONSE_ID = 'gen_ai.response.id'
/** chat · string, later · The model that answered, as the provider names it. */
export const RESPONSE_MODEL = 'gen_ai.response.model'
/**
 * run, chat · string[], later · Why the model stopped, in the provider's own word if it is known; `error` if a reason was due
 * and none came. Of a run: of its answer.
 */
export const FINISH_REASONS = 'gen_ai.response.finish_reasons'
/** chat · double, later · From the request to the first event, in seconds. */
export const TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk'
/** run, chat · int, later · Tokens read; of a run the sum, that before a resume included, which `usageOnRun: false` leaves out. */
export const INPUT_TOKENS = 'gen_ai.usage.input_tokens'
/** run, chat · int, later · Tokens written; of a run the sum. */
export const OUTPUT_TOKENS = 'gen_ai.usage.output_tokens'
/** run, chat · int, later · Tokens read from the provider's cache; of a run the sum. */
export const CACHE_READ_TOKENS = 'gen_ai.usage.cache_read.input_tokens'
/** run, chat · int, later · Tokens written to the provider's cache; of a run the sum. */
export const CACHE_CREATION_TOKENS = 'gen_ai.usage.cache_creation.input_tokens'
/** run, chat · int, later · Tokens written while reasoning; of a run the sum. */
export const REASONING_TOKENS = 'gen_ai.usage.reasoning.output_tokens'
/** run, chat · string, later · Content: the instructions, as JSON. */
export const SYSTEM_INSTRUCTIONS = 'gen_ai.system_instructions'
/** run, chat · string, later · Content: the messages that are sent, as JSON; of a run its input. */
export const INPUT_MESSAGES = 'gen_ai.input.messages'
/** run, chat · string, later · Content: what the model says, as JSON; of a run its answer. */
export const OUTPUT_MESSAGES = 'gen_ai.output.messages'
/** chat · string, later · Content: the tools the model is told of, as JSON. */
export const TOOL_DEFINITIONS = 'gen_ai.tool.definitions'
/** tool · string · The tool's name; `_OTHER` if there is no such tool, as the word is the model's. */
export const TOOL_NAME = 'gen_ai.tool.name'
/** tool · string, later · The id of the call. */
export const TOOL_CALL_ID = 'gen_ai.tool.call.id'
/** tool · string, later · Always `function`. */
export const TOOL_TYPE = 'gen_ai.tool.type'
/** tool · string, later · Content: the arguments, as JSON. */
export const TOOL_ARGUMENTS = 'gen_ai.tool.call.arguments'
/** tool · string, later · Content: the result, as JSON. */
export const TOOL_RESULT = 'gen_ai.tool.call.result'

/** chat · string · Where the request goes, if the adapter knows. */
export const SERVER_ADDRESS = 'server.address'
/** chat · int · The port there. */
export const SERVER_PORT = 'server.port'
/**
 * run, chat, tool, middleware · string, later · Why the span's status is ERROR: the `name` of the error, or `_OTHER` where
 * that is no name, or no error. Of a chat first the HTTP status or the provider's code; `stream_truncated` if the stream ended without
 * a finish reason. Of a tool `invalid_input`, `unknown_tool`, `compensation_failed`. Of both `timeout` past a limit of their own: of a
 * model call, of its silence, of the tool.
 */
export const ERROR_TYPE = 'error.type'
/** event · string · Content: the message of an exception. */
export const EXCEPTION_MESSAGE = 'exception.message'

/** run · string · The id of the run. A resumed run keeps it. */
export const RUN_ID = 'meanwhile.run.id'
/** run · boolean · Whether it goes on from a checkpoint. */
export const RUN_RESUMED = 'meanwhile.run.resumed'
/** run · string[] · The names of its middleware, outermost first. */
export const MIDDLEWARE_ORDER = 'meanwhile.middleware.order'
/**
 * run, chat, tool, middleware · string, later · What came of it. Of a run and a chat `completed`, `failed`, `cancelled`,
 * `interrupted`; of a tool `committed` (its call's result stands), `failed`, `discarded`, `cancelled`, `interrupted`, `abandoned`
 * (its function went on when it was no longer waited for). Of a wrap only if it answered without `next`.
 */
export const OUTCOME = 'meanwhile.outcome'
/** chat, tool, middleware · int, later · The step, from 1. */
export const STEP_INDEX = 'meanwhile.step.index'
/** run · int, later · How many steps there were, before a resume, too. */
export const STEP_COUNT = 'meanwhile.step.count'
/** chat, tool · int, later · The how-manieth attempt of its step, or execution of its call, from 1. */
export const ATTEMPT = 'meanwhile.attempt'
/** tool · string, later · What the call does: `read`, `idempotent`, `reversible`, `external`. Known once its input is checked. */
export const TOOL_EFFECT = 'meanwhile.tool.effect'
/** tool · string, later · `early`: asked for before its model call had stood. `after_model`: when the loop asks for the calls. */
export const DISPATCH_MODE = 'meanwhile.dispatch.mode'
/**
 * tool · string, later · What its start stood on: `prefix` (the arguments its tool needs), `closed` (all, but they may yet change),
 * `sealed` (they cannot change), `model_stood`.
 */
export const DISPATCH_EVIDENCE = 'meanwhile.dispatch.evidence'
/**
 * tool · string, later · Why it did not start early, or not sooner: `effect`, `approval`, `conflict`, `order` (one slot), `invalid`,
 * `background`, `last_step`, `breaker`, `budget`, `policy`, `off`.
 */
export const DEFERRAL_REASON = 'meanwhile.dispatch.deferral_reason'
/** tool · double, later · From the evidence to the function's start, in seconds. Of a call's first execution. */
export const DISPATCH_LAG = 'meanwhile.dispatch.lag'
/** tool · double, later · How long it waited for a slot, in seconds. */
export const DISPATCH_QUEUED = 'meanwhile.dispatch.queued'
/** tool · double, later · Of an early one: from its start to the end of the model's stream, in seconds; never below 0. */
export const HEAD_START = 'meanwhile.head_start'
/** tool · double, later · Of an early one: how long it worked while the model streamed, in seconds. Of a lone call the time saved. */
export const OVERLAP = 'meanwhile.overlap'
/**
 * tool, middleware · string, later · Why its call was discarded: `arguments_changed`, `call_withdrawn`, `stream_error`, `stream_truncated` (no finish
 * reason, or one that forbids calls), `run_aborted`.
 */
export const DISCARD_REASON = 'meanwhile.discard.reason'
/** tool · boolean, later · Only `false`: the span was closed while the function still ran. */
export const SETTLED = 'meanwhile.settled'
/** tool · boolean, later · Whether a discarded call that had happened was undone. */
export const COMPENSATED = 'meanwhile.compensated'
/** run, chat · int, later · Calls that were made before their model call had stood. */
export const CALLS_EARLY = 'meanwhile.tool_calls.early'
/** run · int, later · Those of them that the loop asked for in the end. */
export const CALLS_COMMITTED = 'meanwhile.tool_calls.committed'
/** run · int, later · Those of them that were let go of. */
export const CALLS_DISCARDED = 'meanwhile.tool_calls.discarded'
/** run · int, later · Calls of the checkpoint whose results were taken from it. */
export const CALLS_REUSED = 'meanwhile.tool_calls.reused'
/** run · int, later · Calls that an earlier process had started and that may have happened. */
export const CALLS_UNKNOWN = 'meanwhile.tool_calls.unknown'
/** run · double, later · What early starts have saved, by the savings of `@meanwhile/eager-tools`, in seconds; may be below 0. */
export const TIME_SAVED = 'meanwhile.time_saved'
/** run · double, later · How long discarded calls have run, by the same, in seconds. */
export const TIME_WASTED = 'meanwhile.time_wasted'
/** middleware · string, later · Its name. */
export const MIDDLEWARE_NAME = 'meanwhile.middleware.name'
/** middleware · string, later · The hook or wrap: `beforeModel`, `wrapModel` … */
export const MIDDLEWARE_HOOK = 'meanwhile.middleware.hook'
/** middleware · int, later · Of a wrap: how often it called `next`; 0 if it answered itself, 2 and more if it tried again. */
export const MIDDLEWARE_NEXT_CALLS = 'meanwhile.middleware.next_calls'
/** middleware · string, later · Of `beforeFinalAnswer`: `accept` or `reject`. */
export const MIDDLEWARE_VERDICT = 'meanwhile.middleware.verdict'

/** metrics · string · Always `unknown`: no provider's counts are split by it here. */
export const TOKEN_MODALITY = 'gen_ai.token.modality'

/**
 * histogram · s · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, ERROR_TYPE · How long a
 * `chat` span lasted.
 */
export const INFERENCE_DURATION = 'gen_ai.client.inference.duration'
/**
 * histogram · s · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT · From the request to the
 * first event.
 */
export const INFERENCE_FIRST_CHUNK = 'gen_ai.client.inference.time_to_first_chunk'
/**
 * counter · {token} · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, TOKEN_MODALITY · Tokens
 * read. An attempt that reports none adds 0.
 */
export const INFERENCE_INPUT_TOKENS = 'gen_ai.client.inference.usage.input_tokens'
/**
 * counter · {token} · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, TOKEN_MODALITY · Tokens
 * written.
 */
export const INFERENCE_OUTPUT_TOKENS = 'gen_ai.client.inference.usage.output_tokens'
/**
 * counter · {token} · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, TOKEN_MODALITY · Those
 * of the tokens read that came from the provider's cache.
 */
export const INFERENCE_CACHE_READ_TOKENS = 'gen_ai.client.inference.usage.cache_read.input_tokens'
/**
 * counter · {token} · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, TOKEN_MODALITY · Those
 * of the tokens read that went into the provider's cache.
 */
export const INFERENCE_CACHE_WRITE_TOKENS = 'gen_ai.client.inference.usage.cache_write.input_tokens'
/**
 * counter · {token} · OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, SERVER_ADDRESS, SERVER_PORT, TOKEN_MODALITY · Those
 * of the tokens written that are reasoning.
 */
export const INFERENCE_REASONING_TOKENS = 'gen_ai.client.inference.usage.reasoning.output_tokens'
/** histogram · s · TOOL_NAME, TOOL_TYPE, AGENT_NAME, ERROR_TYPE, OUTCOME · How long an `execute_tool` span lasted. */
export const EXECUTE_TOOL_DURATION = 'gen_ai.execute_tool.duration'
/**
 * histogram · s · AGENT_NAME, REQUEST_MODEL, ERROR_TYPE · How long an `invoke_agent` span lasted. The model is there if the run
 * asked only one.
 */
export const INVOKE_AGENT_DURATION = 'gen_ai.invoke_agent.duration'
/** histogram · {inference_call} · AGENT_NAME · The run's model attempts, failed ones and those on the side included. */
export const INVOKE_AGENT_INFERENCE_CALLS = 'gen_ai.invoke_agent.inference_calls'
/**
 * histogram · {tool_call} · AGENT_NAME · The tool calls of the responses that stood, failed ones included; so it is the same with
 * early starts and without.
 */
export const INVOKE_AGENT_TOOL_CALLS = 'gen_ai.invoke_agent.tool_calls'
/** counter · {tool_call} · TOOL_NAME, DISPATCH_MODE, OUTCOME · Calls that were executed, or answered by a wrap, once each. */
export const TOOL_CALLS = 'meanwhile.tool_calls'
/** histogram · s · TOOL_NAME, AGENT_NAME · The head start of calls that started early and were not discarded, by their first execution. */
export const HEAD_STARTS = 'meanwhile.head_start'
/** histogram · s · TOOL_NAME, DISPATCH_EVIDENCE · From the evidence for a call to the start of its function, its first time. */
export const DISPATCH_LAGS = 'meanwhile.dispatch.lag'
