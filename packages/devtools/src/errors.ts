/** The errors of this package. */

/** The default of exporters. */
export const DEFAULT_PORT = 4318

/** Another program listens at the port. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError'
  /** The port that is in use. */
  readonly port: number

  constructor(port: number, options?: ErrorOptions) {
    super(
      `Port ${port} is in use${port === DEFAULT_PORT ? ', perhaps by a Jaeger or another collector' : ''}. Choose another one: --port ${port + 1}, and OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:${port + 1}`,
      options,
    )
    this.port = port
  }
}

/** A file that cannot be read, or is not OTLP as JSON. */
export class OtlpFileError extends Error {
  override readonly name = 'OtlpFileError'
  /** The path of the file, as it was given. */
  readonly file: string

  constructor(file: string, problem: string, options: ErrorOptions) {
    super(`${file} ${problem}`, options)
    this.file = file
  }
}
