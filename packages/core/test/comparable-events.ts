import type { AgentEvent } from '../src/index.ts'

/** The parts of events that do not differ from run to run. */
export const comparable = (events: readonly AgentEvent[]) =>
  events.map(({ runId: _, ...event }) => (event.type === 'tool-progress' ? { ...event, timestamp: 0 } : event))
