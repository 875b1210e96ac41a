package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.http.javadsl.model.ContentType;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpHeader;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.MediaTypes;
import org.apache.pekko.http.javadsl.model.ResponseEntity;
import org.apache.pekko.http.javadsl.model.StatusCode;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.http.javadsl.model.headers.RawHeader;
import org.apache.pekko.http.javadsl.model.headers.RawRequestURI;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;

/** The mapping between Pekko's messages and those of this package. */
final class PekkoMapping {
  /** Answers carry a handful of content types; a peer that invents new ones does not fill the memory. */
  private static final int KNOWN_TYPES = 256;

  private static final ConcurrentHashMap<String, ContentType> TYPES = new ConcurrentHashMap<>();

  private static final HttpHeader CLOSE = org.apache.pekko.http.javadsl.model.headers.Connection.create("close");

  private PekkoMapping() {}

  /** Path and query as sent. */
  static String target(HttpRequest request) {
    String raw = request.getHeader(RawRequestURI.class).map(HttpHeader::value).orElse("");
    if (raw.startsWith("/") || raw.equals("*")) {
      return raw;
    }
    String path = request.getUri().path();
    return request.getUri().rawQueryString().map(query -> path + '?' + query).orElse(path);
  }

  static Headers headers(HttpRequest request, int bodyLength) {
    Headers.Builder headers = Headers.builder();
    for (HttpHeader header : request.getHeaders()) {
      // The body has been decoded.
      if (!isSynthetic(header) && !header.is("content-encoding")) {
        headers.add(header.name(), header.value());
      }
    }
    ContentType type = request.entity().getContentType();
    if (!type.equals(ContentTypes.NO_CONTENT_TYPE)) {
      headers.add("Content-Type", type.toString());
    }
    if (bodyLength > 0) {
      headers.add("Content-Length", Integer.toString(bodyLength));
    }
    return headers.build();
  }

  /** Whether it is Pekko's own, which nobody has sent: the target as it came, or that the request is a WebSocket's. */
  private static boolean isSynthetic(HttpHeader header) {
    return !header.renderInRequests() && !header.renderInResponses();
  }

  static boolean allowsBody(int status) {
    return status != 204 && status != 304;
  }

  /** An answer as it is; a streamed one without its body. */
  static HttpResponse response(Response answer, boolean last) {
    byte[] body = answer instanceof Response.Buffered whole ? whole.body() : new byte[0];
    return response(
        answer.status(),
        answer.headers(),
        last,
        HttpEntities.create(contentType(answer.headers()), ByteString.fromArrayUnsafe(body)));
  }

  static HttpResponse streamed(int status, Headers headers, StreamingBodySource body, boolean last) {
    return response(
        status, headers, last, HttpEntities.createChunked(contentType(headers), Source.fromGraph(body)));
  }

  private static HttpResponse response(int status, Headers headers, boolean last, ResponseEntity entity) {
    List<HttpHeader> rendered = new ArrayList<>(headers.size() + 1);
    for (int i = 0; i < headers.size(); i++) {
      if (!isOwn(headers.name(i))) {
        rendered.add(RawHeader.create(headers.name(i), headers.value(i)));
      }
    }
    if (last) {
      rendered.add(CLOSE);
    }
    return HttpResponse.create().withStatus(status(status)).withHeaders(rendered).withEntity(entity);
  }

  private static boolean isOwn(String name) {
    return switch (name.length()) {
      case 4 -> name.equalsIgnoreCase("Date");
      case 6 -> name.equalsIgnoreCase("Server");
      case 10 -> name.equalsIgnoreCase("Connection") || name.equalsIgnoreCase("Keep-Alive");
      case 12 -> name.equalsIgnoreCase("Content-Type");
      case 14 -> name.equalsIgnoreCase("Content-Length");
      case 17 -> name.equalsIgnoreCase("Transfer-Encoding");
      default -> false;
    };
  }

  private static StatusCode status(int status) {
    return StatusCodes.lookup(status)
        .orElseGet(() -> StatusCodes.custom(status, "Unassigned", "", status < 400, true));
  }

  private static ContentType contentType(Headers headers) {
    String value = headers.first("Content-Type");
    if (value == null) {
      return ContentTypes.NO_CONTENT_TYPE;
    }
    ContentType known = TYPES.get(value);
    if (known == null) {
      known = parse(value);
      if (TYPES.size() < KNOWN_TYPES) {
        TYPES.put(value, known);
      }
    }
    return known;
  }

  /** A type that renders as it came: Pekko's own would drop a charset that goes without saying. */
  private static ContentType parse(String value) {
    String[] parts = value.split(";", -1);
    String[] type = parts[0].strip().split("/", 2);
    if (type.length != 2 || type[0].isEmpty() || type[1].isEmpty()) {
      return ContentTypes.APPLICATION_OCTET_STREAM;
    }
    if (type[0].equalsIgnoreCase("multipart")) {
      return ContentTypes.parse(value);
    }
    Map<String, String> parameters = new HashMap<>();
    for (int i = 1; i < parts.length; i++) {
      String[] parameter = parts[i].strip().split("=", 2);
      if (parameter.length == 2) {
        parameters.put(parameter[0], parameter[1]);
      }
    }
    return MediaTypes.customBinary(type[0], type[1], true, parameters, false).toContentType();
  }
}
