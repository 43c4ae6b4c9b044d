/** The members that providers know: what else a request has, they refuse. */

import { words } from './values.ts'

type Names = ReadonlySet<string>

export const CHAT_BODY: Names = words(
  'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options',
)

export const MISTRAL_BODY: Names = words(
  'frequency_penalty guardrails max_tokens messages metadata model n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_mode random_seed reasoning_effort response_format safe_prompt service_tier stop stream stream_options temperature tool_choice tools top_p',
)

export const RESPONSES_BODY: Names = words(
  'access_programs background context_management conversation image include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user',
)

/** With the members of betas, which need a header. */
export const MESSAGES_BODY: Names = words(
  'betas billing_policy cache_control compaction container context_management diagnostics fallback_credit_token fallbacks inference_geo max_tokens mcp_servers messages metadata model output_config output_format service_tier speed stop_sequences stream system temperature thinking thread tool_choice tools top_k top_p user_profile_id workspace_id',
)

export const CHAT_MESSAGE: ReadonlyMap<unknown, Names> = new Map([
  ['system', words('role content name')],
  ['developer', words('role content name')],
  ['user', words('role content name')],
  ['assistant', words('role content name audio function_call refusal tool_calls')],
  ['tool', words('role content name tool_call_id')],
])

export const MISTRAL_MESSAGE: Names = words('role content tool_calls prefix tool_call_id name')

export const CHAT_PART: ReadonlyMap<unknown, Names> = new Map([
  ['text', words('type text prompt_cache_breakpoint')],
  ['image_url', words('type image_url prompt_cache_breakpoint')],
  ['input_audio', words('type input_audio prompt_cache_breakpoint')],
  ['file', words('type file prompt_cache_breakpoint')],
])

export const CHAT_PARTS_OF: ReadonlyMap<unknown, Names> = new Map([
  ['system', words('text')],
  ['developer', words('text')],
  ['user', words('text image_url input_audio file')],
  ['assistant', words('text refusal')],
  ['tool', words('text')],
])

export const RESPONSES_MESSAGE: Names = words('type role content phase id status')

export const RESPONSES_PART: ReadonlyMap<unknown, Names> = new Map([
  ['input_text', words('type text prompt_cache_breakpoint')],
  ['input_image', words('type image_url detail file_id prompt_cache_breakpoint')],
  ['input_file', words('type file_id filename file_data file_url detail prompt_cache_breakpoint')],
])

export const MESSAGES_MESSAGE: Names = words('role content')

export const MESSAGES_BLOCK: ReadonlyMap<unknown, Names> = new Map([
  ['text', words('type text cache_control citations')],
  ['image', words('type source cache_control transformations')],
  ['document', words('type source cache_control citations context title')],
  ['search_result', words('type source title content cache_control citations')],
  // Another rule refuses a cache_control of thinking.
  ['thinking', words('type thinking signature cache_control')],
  ['redacted_thinking', words('type data cache_control')],
  ['tool_use', words('type id name input cache_control caller toolset_name')],
  ['tool_result', words('type tool_use_id content is_error cache_control toolset_name')],
])

export const RESULT_BLOCKS: Names = words('text image search_result document tool_reference browser_state')
