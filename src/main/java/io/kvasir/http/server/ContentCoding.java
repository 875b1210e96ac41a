package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import org.apache.pekko.http.javadsl.model.HttpHeader;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.stream.javadsl.Compression;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/** The coding of a request's body, such as gzip, which is removed before the body is read. */
public enum ContentCoding {
  /** None. */
  IDENTITY,
  /** The gzip format, one member or several. */
  GZIP,
  /** The zlib format, as RFC 9110 has it. */
  DEFLATE;


  /** The header that names it, in lower case. */
  public static final String HEADER = "content-encoding";

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
      if (coding != null && header.is(HEADER)) {
        coding = coding.then(header.value());
      }
    }
    return coding;
  }

  /** The same by the request's headers. */
  public static @Nullable ContentCoding of(Headers headers) {
    ContentCoding coding = IDENTITY;
    for (int i = 0; coding != null && i < headers.size(); i++) {
      if (headers.name(i).equalsIgnoreCase(HEADER)) {
        coding = coding.then(headers.value(i));
      }
    }
    return coding;
  }

  /** Another coding after this one, null when that is not supported. */
  private @Nullable ContentCoding then(String name) {
    ContentCoding next =
        switch (name.strip().toLowerCase(Locale.ROOT)) {
          case "gzip", "x-gzip" -> GZIP;
          case "deflate" -> DEFLATE;
          case "identity", "" -> IDENTITY;
          default -> null;
        };
    return this == IDENTITY ? next : null;
  }

  /**
   * A body without its coding, which is removed as it is read. It may turn out to be malformed, and any number of times
   * longer than what came: who reads it sees to {@link #isBomb}.
   *
   * @throws IOException when it is malformed from the beginning
   */
  public InputStream decoded(byte[] body) throws IOException {
    InputStream bytes = new ByteArrayInputStream(body);
    return switch (this) {
      case IDENTITY -> bytes;
      case GZIP -> new GZIPInputStream(bytes, MAX_PIECE_BYTES);
      case DEFLATE -> new InflaterInputStream(bytes);
    };
  }

  /** Whether a body that has become so long of so little must be made to be so. */
  public static boolean isBomb(long came, long made) {
    return made > FREE_BYTES + MAX_RATIO * came;
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
                  if (isBomb(came.get(), made.addAndGet(bytes.size()))) {
                    throw new RefusedRequestException(
                        413, "the request's body is more than " + MAX_RATIO + " times as long as its compressed form");
                  }
                  return bytes;
                });
      }
    };
  }
}
