/** Reports whose code was not run here. */

import type { Row } from '../row.ts'

const PYTHON = 'It is written in Python; only packages of npm are installed for this page.'

export const NOT_RUN: Readonly<Record<string, Row>> = {
  'hook-throws': {
    title: 'A hook that throws after the tools have run',
    library: 'Strands Agents',
    thread: { name: 'strands-agents/harness-sdk#4338', status: '2026-09, open' },
    test: {
      file: 'packages/core/src/middleware/wrap-throws.test.ts',
      title:
        'an error that wrapToolCall throws fails its call, without stack, and the run goes on; the model reads that the tool ran',
    },
    trial: { notRun: PYTHON },
  },
  'swapped-answers': {
    title: 'Answers to the questions of parallel tools',
    library: 'LangGraph for Python',
    thread: { name: 'langchain-ai/langgraph#6533', status: '2025-12, open' },
    test: {
      file: 'packages/core/src/vocabulary/questions-and-other-calls.test.ts',
      title: 'other calls finish, several questions are listed in call order, and only what asked is made again',
    },
    trial: { notRun: PYTHON },
  },
  'request-after-abort': {
    title: 'A model request after an abort in a tool',
    library: 'OpenClaw',
    thread: { name: 'openclaw/openclaw#94412', status: '2026-06, merged' },
    test: {
      file: 'packages/core/src/run/abort.test.ts',
      title: 'nothing of the run starts after an abort: no hook, no request, no tool',
    },
    trial: { notRun: 'It is an application, and the thread is its fix.' },
  },
  'qwen-listeners': {
    title: 'Listeners that pile up on one signal',
    library: 'Qwen Code',
    thread: { name: 'QwenLM/qwen-code#4366', status: '2026-05, merged' },
    test: {
      file: 'packages/core/src/run/shared-signal.test.ts',
      title: 'adds no listener to a signal that others follow',
    },
    trial: { notRun: 'It is an application, and the thread is its fix.' },
  },
  'open-spans': {
    title: 'Spans of an aborted run that never end',
    library: 'Mastra',
    thread: { name: 'mastra-ai/mastra#22972', status: '2026-09, closed' },
    test: { file: 'packages/core/src/telemetry/ended.test.ts', title: 'an abort in the stream' },
    trial: { notRun: 'Its spans need `@mastra/observability`, which is not installed for this page.' },
  },
  'retry-after': {
    title: 'A provider that says when to come back',
    library: 'pi’s coding agent',
    thread: { name: 'earendil-works/pi#9595', status: '2026-09, closed' },
    test: {
      file: 'packages/middleware/src/retry-model.test.ts',
      title: 'a longer Retry-After replaces the wait, a shorter one does not',
    },
    trial: { notRun: 'The fault is in an application; the retries of `@earendil-works/pi-ai` read the header.' },
  },
}
