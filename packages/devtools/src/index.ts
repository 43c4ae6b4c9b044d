/** A page on your own machine that shows the runs of agents while they happen. */

export { OtlpFileError, PortInUseError } from './errors.ts'
export { type Devtools, type DevtoolsOptions, startDevtools } from './start-devtools.ts'
