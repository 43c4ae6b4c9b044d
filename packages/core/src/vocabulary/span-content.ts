/** Defines what spans may contain in addition to core's own attributes. */

export type { Attributes } from '@opentelemetry/api'

/**
 * Whether spans contain messages, arguments, results and error texts. A function is called for each attribute with its name and its value before it
 * becomes JSON. It returns the value to record, or `undefined` to record nothing; if it throws, nothing is recorded. An attribute has at most about
 * 64 KiB, and a string in it 8 KiB. To shorten longer content, whole messages, parts and tools are left out, so that the attribute keeps the format
 * of the OpenTelemetry conventions.
 */
export type CaptureContent = boolean | ((attribute: string, value: unknown) => unknown)
