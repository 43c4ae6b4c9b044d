/** The clients, the doors that they use, and what they cannot do. */

import type { Words } from './features.ts'

export interface Client {
  /** The file of its page; absent without a browser. */
  readonly page?: string
  readonly door: Door
  /** What it cannot do: in a few words, with the address of its source or issue. */
  readonly limits?: Limits
}

type Door = 'ai-sdk' | 'ag-ui'

type Limits = Readonly<Record<string, readonly [says: string, link: string]>>

export const WORDS: Readonly<Record<Door, Words>> = {
  'ai-sdk': { late: 'no longer open', branch: 'was replaced' },
  'ag-ui': { late: 'So: sent to ada.', branch: 'You said two.' },
}

const OF_AG_UI: Limits = {
  'the result of an early call, while the model is writing': [
    'AG-UI has no event for a result that may not count',
    'https://docs.ag-ui.com/concepts/events#tool-call-events',
  ],
}

const NOTHING_PRELIMINARY = [
  'it shows the progress of a tool as its result',
  'https://github.com/assistant-ui/assistant-ui/blob/main/packages/ai-sdk/src/converters/convertMessage.ts',
] as const

const NO_ACTIVITIES = [
  'it shows no activities of tools',
  'https://github.com/assistant-ui/assistant-ui/blob/main/packages/react-ag-ui/src/runtime/adapter/conversions.ts',
] as const

const NOT_ASKED_AGAIN = [
  'a page that is loaded does not ask what was asked before',
  'https://github.com/assistant-ui/assistant-ui/blob/main/packages/react-ag-ui/src/runtime/AgUiThreadRuntimeCore.ts',
] as const

export const CLIENTS: Readonly<Record<string, Client>> = {
  '`useChat` of React 4.0.177': { page: 'react.tsx', door: 'ai-sdk' },
  '`Chat` of Vue 4.0.142': { page: 'vue.ts', door: 'ai-sdk' },
  'assistant-ui 0.15.22, AI SDK': {
    page: 'assistant-ui-ai-sdk.tsx',
    door: 'ai-sdk',
    limits: {
      'the result of an early call, while the model is writing': NOTHING_PRELIMINARY,
      'progress, and a reload while the tool runs': NOTHING_PRELIMINARY,
      'a background tool, and a reload while it runs': NOTHING_PRELIMINARY,
    },
  },
  'assistant-ui 0.15.22, AG-UI': {
    page: 'assistant-ui-ag-ui.tsx',
    door: 'ag-ui',
    limits: {
      ...OF_AG_UI,
      'progress, and a reload while the tool runs': NO_ACTIVITIES,
      'a background tool, and a reload while it runs': NO_ACTIVITIES,
      'an approval, and a reload before it': NOT_ASKED_AGAIN,
      'a question of a tool, and a reload before it': NOT_ASKED_AGAIN,
      'two tabs, of which the second is loaded again': NOT_ASKED_AGAIN,
      'a failure, and try again': [
        'its button only cuts the list, as a page does that has lost its connection: it does not say that the failed turn goes on',
        'https://github.com/assistant-ui/assistant-ui/blob/main/packages/react-ag-ui/src/runtime/AgUiThreadRuntimeCore.ts',
      ],
      'an edit of the first message': [
        'the edit is sent without the id of the message, so it is added',
        'https://github.com/assistant-ui/assistant-ui/blob/main/packages/react-ag-ui/src/runtime/AgUiThreadRuntimeCore.ts',
      ],
    },
  },
  'CopilotKit 1.74.0': { page: 'copilotkit.tsx', door: 'ag-ui', limits: OF_AG_UI },
  '`HttpAgent` 1.0.0': { door: 'ag-ui', limits: OF_AG_UI },
  '`HttpAgent` 0.0.59': { door: 'ag-ui', limits: OF_AG_UI },
}
