/** What spans may hold beside what core says. */

export type { Attributes } from '@opentelemetry/api'

/**
 * Whether spans hold messages, arguments, results and error texts. A function is asked for each: it is given the attribute's
 * name and the value before it becomes JSON, and gives what to record instead, or `undefined` for nothing; if it throws,
 * nothing is recorded. An attribute holds at most some 64 KiB, a string in it 8 KiB; what is left out is so by whole messages,
 * parts and tools, in the form of the conventions.
 */
export type CaptureContent = boolean | ((attribute: string, value: unknown) => unknown)
