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

/** A file that is not OTLP/JSON. */
export class OtlpFileError extends Error {
  override readonly name = 'OtlpFileError'
  /** The path of the file, as it was given. */
  readonly file: string

  constructor(file: string, options: ErrorOptions) {
    const why = options.cause instanceof Error ? options.cause.message : String(options.cause)
    super(`${file} is not OTLP as JSON, as one document or one per line: ${why.slice(0, 200)}`, options)
    this.file = file
  }
}
