/** Requests as the documentation of both providers has them, in their shapes: no rule may refuse one. */

import type { WireName } from '../src/wires/wire-name.ts'

interface OfficialRequest {
  readonly title: string
  readonly wire: WireName
  readonly body: object
}

const LOCATION = {
  type: 'object',
  properties: {
    location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
  },
  required: ['location'],
}

const STRICT_LOCATION = {
  type: 'object',
  properties: { location: { type: 'string' }, unit: { type: ['string', 'null'], enum: ['celsius', 'fahrenheit'] } },
  required: ['location', 'unit'],
  additionalProperties: false,
}

const EVENT = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    date: { type: 'string' },
    participants: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'date', 'participants'],
  additionalProperties: false,
}

const chat = (title: string, body: object): OfficialRequest => ({ title: `Chat, ${title}`, wire: 'openai-chat', body })
const responses = (title: string, body: object): OfficialRequest => ({
  title: `Responses, ${title}`,
  wire: 'openai-responses',
  body,
})
const messages = (title: string, body: object): OfficialRequest => ({
  title: `Messages, ${title}`,
  wire: 'anthropic',
  body: { model: 'claude-sonnet-4-5', max_tokens: 1024, ...body },
})

const user = (content: unknown): object => ({ role: 'user', content })
const assistant = (content: unknown): object => ({ role: 'assistant', content })
const HELLO = user('Hello!')
const WEATHER = { name: 'get_weather', description: 'The current weather', input_schema: LOCATION }

export const officialRequests: readonly OfficialRequest[] = [
  chat('a first request', {
    model: 'gpt-5.1',
    messages: [{ role: 'developer', content: 'You are a helpful assistant.' }, HELLO],
  }),
  chat('an image', {
    model: 'gpt-4.1',
    messages: [
      user([
        { type: 'text', text: 'What is in this image?' },
        { type: 'image_url', image_url: { url: 'https://example.com/boardwalk.jpg' } },
      ]),
    ],
    max_completion_tokens: 300,
  }),
  chat('a stream with usage', {
    model: 'gpt-5.1',
    messages: [HELLO],
    stream: true,
    stream_options: { include_usage: true },
  }),
  chat('functions', {
    model: 'gpt-4.1',
    messages: [user('What is the weather like in Boston today?')],
    tools: [{ type: 'function', function: { name: 'get_current_weather', description: 'd', parameters: LOCATION } }],
    tool_choice: 'auto',
  }),
  chat('strict functions and their results', {
    model: 'gpt-4.1',
    messages: [
      user('What is the weather like in Paris today?'),
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          {
            id: 'call_12345xyz',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"location":"Paris","unit":null}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_12345xyz', content: '18' },
    ],
    tools: [{ type: 'function', function: { name: 'get_weather', strict: true, parameters: STRICT_LOCATION } }],
  }),
  chat('log probabilities', { model: 'gpt-4.1', messages: [HELLO], logprobs: true, top_logprobs: 2 }),
  chat('structured output', {
    model: 'gpt-4.1',
    messages: [{ role: 'system', content: 'Extract the event information.' }, user('A science fair on Friday.')],
    response_format: { type: 'json_schema', json_schema: { name: 'event', strict: true, schema: EVENT } },
  }),
  chat('JSON mode', {
    model: 'gpt-4.1',
    messages: [{ role: 'system', content: 'Answer in JSON.' }, HELLO],
    response_format: { type: 'json_object' },
  }),
  chat('audio and a file', {
    model: 'gpt-4o-audio-preview',
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
    messages: [
      user([
        { type: 'text', text: 'What is in this recording?' },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'file', file: { file_id: 'file-6F2ksmvXxt4VdoqmHRw6kL' } },
      ]),
    ],
  }),
  responses('text input', { model: 'gpt-5.1', input: 'Tell me a three sentence bedtime story about a unicorn.' }),
  responses('an image', {
    model: 'gpt-4.1',
    input: [
      user([
        { type: 'input_text', text: 'what is in this image?' },
        { type: 'input_image', image_url: 'https://example.com/boardwalk.jpg' },
      ]),
    ],
  }),
  responses('a file', {
    model: 'gpt-4.1',
    input: [
      user([
        { type: 'input_text', text: 'what is in this file?' },
        { type: 'input_file', file_url: 'https://example.com/letter.pdf' },
      ]),
    ],
  }),
  responses('web search and file search', {
    model: 'gpt-4.1',
    tools: [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: ['vs_1234567890'], max_num_results: 20 }],
    input: 'What was a positive news story from today?',
  }),
  responses('a stream with instructions', {
    model: 'gpt-5.1',
    instructions: 'You are a helpful assistant.',
    input: 'Hello!',
    stream: true,
  }),
  responses('functions', {
    model: 'gpt-4.1',
    input: 'What is the weather like in Boston today?',
    tools: [{ type: 'function', name: 'get_current_weather', description: 'd', parameters: LOCATION }],
    tool_choice: 'auto',
  }),
  responses('a function and its result', {
    model: 'gpt-4.1',
    input: [
      user('What is my horoscope? I am an Aquarius.'),
      {
        type: 'function_call',
        id: 'fc_12345xyz',
        call_id: 'call_12345xyz',
        name: 'get_horoscope',
        arguments: '{"sign":"Aquarius"}',
        status: 'completed',
      },
      { type: 'function_call_output', call_id: 'call_12345xyz', output: '{"horoscope":"otters"}' },
    ],
    tools: [
      {
        type: 'function',
        name: 'get_horoscope',
        strict: true,
        parameters: {
          type: 'object',
          properties: { sign: { type: 'string' } },
          required: ['sign'],
          additionalProperties: false,
        },
      },
    ],
  }),
  responses('reasoning', { model: 'o3-mini', input: 'How much wood?', reasoning: { effort: 'high' } }),
  responses('the next turn of a stored response', {
    model: 'gpt-5.1',
    previous_response_id: 'resp_1',
    input: [user('And the second one?')],
  }),
  responses('structured output', {
    model: 'gpt-4.1',
    input: [{ role: 'system', content: 'Extract the event information.' }, user('A science fair on Friday.')],
    text: { format: { type: 'json_schema', name: 'event', strict: true, schema: EVENT } },
  }),
  messages('a first request', { messages: [user('Hello, Claude')] }),
  messages('several turns', { messages: [user('Hello, Claude'), assistant('Hello!'), user('Describe LLMs to me.')] }),
  messages('words in the mouth of a model', {
    max_tokens: 1,
    messages: [user('What is latin for Ant? (A) Apoidea, (B) Formicidae'), assistant('The answer is (')],
  }),
  messages('images', {
    messages: [
      user([
        { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQSkZJRg==' } },
        { type: 'image', source: { type: 'url', url: 'https://example.com/ant.jpg' } },
        { type: 'text', text: 'What is in these images?' },
      ]),
    ],
  }),
  messages('a PDF', {
    messages: [
      user([
        { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
        { type: 'text', text: 'Summarize it.' },
      ]),
    ],
  }),
  messages('tools', { tools: [WEATHER], messages: [user('What is the weather like in San Francisco?')] }),
  messages('a tool and its result', {
    tools: [WEATHER],
    messages: [
      user('What is the weather like in San Francisco?'),
      assistant([
        { type: 'text', text: 'I will check it.' },
        { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'get_weather', input: { location: 'SF' } },
      ]),
      user([{ type: 'tool_result', tool_use_id: 'toolu_01A09q90qw90lq917835lq9', content: '65 degrees' }]),
    ],
  }),
  messages('tools of the provider, and a forced choice', {
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }, WEATHER],
    tool_choice: { type: 'tool', name: 'get_weather' },
    messages: [user('What is the weather like in San Francisco?')],
  }),
  messages('extended thinking with tools', {
    max_tokens: 16_000,
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    tools: [WEATHER],
    messages: [
      user('What is the weather in Paris?'),
      assistant([
        {
          type: 'thinking',
          thinking: 'I need the weather.',
          signature: 'BDaL4VrbR2Oj0hO4XpJxT28J5TILnCrrUXoKiiNBZW9P',
        },
        { type: 'tool_use', id: 'toolu_01CswdEQBMshySk6Y9DFKrfq', name: 'get_weather', input: { location: 'Paris' } },
      ]),
      user([{ type: 'tool_result', tool_use_id: 'toolu_01CswdEQBMshySk6Y9DFKrfq', content: '88' }]),
    ],
  }),
  messages('adaptive thinking with an effort', {
    model: 'claude-opus-4-7',
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
    messages: [HELLO],
  }),
  messages('prompt caching', {
    system: [
      { type: 'text', text: 'You read literary works.' },
      { type: 'text', text: 'Pride and Prejudice', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
    messages: [user([{ type: 'text', text: 'Analyze it.', cache_control: { type: 'ephemeral' } }])],
  }),
  messages('structured output', {
    output_config: { format: { type: 'json_schema', schema: EVENT } },
    messages: [user('A science fair on Friday with Ann and Bob.')],
  }),
]
