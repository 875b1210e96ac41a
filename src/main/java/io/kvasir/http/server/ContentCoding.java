package io.kvasir.http.server;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.http.javadsl.model.HttpHeader;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.stream.javadsl.Compression;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/** The coding of a request's body, such as gzip, which the server removes. */
enum ContentCoding {
  /** None. */
  IDENTITY,
  GZIP,
  /** The zlib format, as RFC 9110 has it. */
  DEFLATE;


  /** What is accepted, in words of the header. */
  static final String ACCEPTED = "gzip, deflate, identity";

  /** Longer pieces of decoded bytes are not made. */
  private static final int MAX_PIECE_BYTES = 64 << 10;

  /** A body may become this long whatever came of it. */
  private static final long FREE_BYTES = 1 << 20;

  /** Beyond that it may be so many times longer than what came: prompts are far below, made to be so are 1,000. */
  private static final int MAX_RATIO = 100;

  /** A request's coding, null when it is not supported. */
  static @Nullable ContentCoding of(HttpRequest request) {
    ContentCoding coding = IDENTITY;
    for (HttpHeader header : request.getHeaders()) {
      if (header.is("content-encoding")) {
        ContentCoding next =
            switch (header.value().strip().toLowerCase(Locale.ROOT)) {
              case "gzip", "x-gzip" -> GZIP;
              case "deflate" -> DEFLATE;
              case "identity", "" -> IDENTITY;
              default -> null;
            };
        if (next == null || coding != IDENTITY) {
          return null;
        }
        coding = next;
      }
    }
    return coding;
  }

  /** The body without its coding, made piece by piece as it is asked for; fails when it is malformed or a bomb. */
  Source<ByteString, Object> decoded(Source<ByteString, Object> body) {
    return switch (this) {
      case IDENTITY -> body;
      case GZIP, DEFLATE -> {
        AtomicLong came = new AtomicLong();
        AtomicLong made = new AtomicLong();
        yield body
            .map(
                bytes -> {
                  came.addAndGet(bytes.size());
                  return bytes;
                })
            .via(this == GZIP ? Compression.gunzip(MAX_PIECE_BYTES) : Compression.inflate(MAX_PIECE_BYTES))
            .map(
                bytes -> {
                  if (made.addAndGet(bytes.size()) > FREE_BYTES + MAX_RATIO * came.get()) {
                    throw new RefusedRequestException(
                        413, "the request's body is more than " + MAX_RATIO + " times as long as its compressed form");
                  }
                  return bytes;
                });
      }
    };
  }
}
