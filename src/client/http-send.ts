export interface HttpRequest {
  method: string
  headers: Record<string, string>
  body: string | null
  signal: AbortSignal | undefined
}

export interface HttpResponse {
  status: number
  header(name: string): string | undefined
  text: string
}

/** The port to HTTP: one request, the whole answer. */
export type HttpSend = (url: string, request: HttpRequest) => Promise<HttpResponse>
