package io.kvasir.gateway.forwarding;

import io.kvasir.execution.dialect.Translation;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Response;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A client's request as a worker gets it.
 *
 * @param target path and query
 * @param body the client's own bytes but for what the router sets
 * @param translation how the answer becomes one of the client's API; null where it is one as it comes
 */
public record ForwardedRequest(String target, byte[] body, @Nullable Translation translation) {
  /** The same with another body. */
  public ForwardedRequest with(byte[] other) {
    return new ForwardedRequest(target, other, translation);
  }

  /** A worker's response as the client gets it. */
  public Response clientResponse(Response response) {
    return translation == null ? response : translated(response, translation);
  }

  private static Response translated(Response response, Translation translation) {
    return switch (response) {
      case Response.Buffered(int status, Headers headers, byte[] body) ->
          new Response.Buffered(
              status, headers, status < 300 ? translation.whole(body) : translation.error(status, body));
      case Response.Streaming(int status, Headers headers, StreamingBody body) -> {
        String type = headers.first("Content-Type");
        boolean events = type != null && type.startsWith("text/event-stream");
        yield new Response.Streaming(
            status, headers, events ? new TranslatedEvents(body, translation) : new TranslatedWhole(body, translation));
      }
    };
  }

  /** An event stream, translated event by event. */
  private record TranslatedEvents(StreamingBody body, Translation translation) implements StreamingBody {
    @Override
    public void run(ByteSink client) throws IOException {
      Translation.Stream stream = translation.stream(client);
      body.run(stream::accept);
      stream.end();
    }

    @Override
    public void abandon() {
      body.abandon();
    }
  }

  /** A long answer that is one JSON document, which can be translated when all of it is there. */
  private record TranslatedWhole(StreamingBody body, Translation translation) implements StreamingBody {
    @Override
    public void run(ByteSink client) throws IOException {
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      body.run(whole::write);
      byte[] translated = translation.whole(whole.toByteArray());
      client.write(translated, 0, translated.length);
    }

    @Override
    public void abandon() {
      body.abandon();
    }
  }
}
