/** Scripted model endpoints, mocked with MSW. */

export * from './both-doors.ts'
export { type MockModels, type MockModelsOptions, mockModels } from './msw.ts'
export type { Clock } from './time.ts'
export { type VirtualClock, virtualClock } from './virtual-clock.ts'
