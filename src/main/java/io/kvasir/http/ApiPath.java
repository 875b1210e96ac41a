package io.kvasir.http;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The APIs that engines serve and the router forwards: the one table of their paths and of what each path implies. */
public enum ApiPath {
  CHAT("chat", Kind.GENERATION, "/v1/chat/completions"),
  COMPLETIONS("completions", Kind.GENERATION, "/v1/completions"),
  RESPONSES("responses", Kind.GENERATION, "/v1/responses"),
  MESSAGES("messages", Kind.GENERATION, "/v1/messages"),
  EMBEDDINGS("embeddings", Kind.MODEL, "/v1/embeddings"),
  COUNT_TOKENS("count_tokens", Kind.MODEL, "/v1/messages/count_tokens"),
  TOKENIZE("tokenize", Kind.HELPER, "/tokenize", "/v1/tokenize"),
  DETOKENIZE("detokenize", Kind.HELPER, "/detokenize", "/v1/detokenize"),
  RERANK("other", Kind.FORWARDED_JSON, "/v1/rerank", "/v2/rerank", "/rerank"),
  /** SGLang's own inference API. */
  GENERATE("other", Kind.FORWARDED_JSON, "/generate"),
  /** vLLM's API of tokens in, tokens out. */
  TOKENS("other", Kind.FORWARDED_JSON, "/inference/v1/generate"),
  /** vLLM's API of several conversations in one request, answered whole. */
  CHAT_BATCH("other", Kind.FORWARDED_JSON, "/v1/chat/completions/batch"),
  /** vLLM's API of what a request becomes before inference, and of what generated tokens become behind it. */
  RENDERING("other", Kind.FORWARDED_JSON,
      "/v1/chat/completions/render", "/v1/completions/render", "/v1/responses/render", "/v1/messages/render",
      "/v1/chat/completions/derender", "/v1/completions/derender"),
  /** Inference of models that do not generate text, or of which it is only asked how likely answers are. */
  SCORING("other", Kind.FORWARDED_JSON,
      "/score", "/v1/score", "/classify", "/v1/classify", "/pooling", "/encode", "/v2/embed", "/generative_scoring",
      "/v1/systemone"),
  /** Audio and images, in or out: forms as well as JSON. */
  MEDIA("other", Kind.FORWARDED,
      "/v1/audio/transcriptions", "/v1/audio/translations", "/v1/audio/speech", "/v1/images/generations",
      "/v1/images/edits", "/v1/images/variations"),
  /** Speech and text both ways, on a WebSocket. */
  REALTIME("realtime", Kind.WEB_SOCKET, "/v1/realtime"),
  /** A stored response: read, cancelled or deleted on the worker that has it. */
  STORED_RESPONSE("stored_response", Kind.FORWARDED),
  /** A path that the operator has added: forwarded as it is, whatever it means. */
  OTHER("other", Kind.FORWARDED);

  /** What requests to an API have in common with those to others. */
  private enum Kind {
    /** Generates text from a model, token by token if the request asks for a stream. */
    GENERATION,
    /** Any other request to a model. */
    MODEL,
    /** Any model will do. */
    HELPER,
    /** Not understood but for its body, a JSON object: any method, and it may change something. */
    FORWARDED_JSON,
    /** Not understood: any method and body, and it may change something. */
    FORWARDED,
    /** A WebSocket, of whose request nothing but the head is understood. */
    WEB_SOCKET
  }

  private static final String STORED = RESPONSES.path() + "/";
  private static final Pattern STORED_PATH = Pattern.compile("/v1/responses/[^/]+(/(cancel|input_items))?");
  private static final Map<String, ApiPath> BY_PATH = Arrays.stream(values())
      .flatMap(api -> api.paths.stream().map(path -> Map.entry(path, api)))
      .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));

  private final String label;
  private final Kind kind;
  @SuppressWarnings("ImmutableEnumChecker") // List.of: immutable, though its type does not say so.
  private final List<String> paths;

  ApiPath(String label, Kind kind, String... paths) {
    this.label = label;
    this.kind = kind;
    this.paths = List.of(paths);
  }

  /**
   * The API at a path, which has no query; null when there is none. What else an engine serves is its administration,
   * or unknown: only the operator can tell that it may be reached from outside.
   */
  public static @Nullable ApiPath at(String path) {
    ApiPath api = BY_PATH.get(path);
    return api != null ? api
        : STORED_PATH.matcher(path).matches() ? STORED_RESPONSE
        : null;
  }

  /** The API at a target, which may have a query; null when there is none. */
  public static @Nullable ApiPath of(String target) {
    int query = target.indexOf('?');
    return at(query < 0 ? target : target.substring(0, query));
  }

  /** The id in a {@link #STORED_RESPONSE} path: {@code /v1/responses/ID}, {@code /v1/responses/ID/cancel} … */
  public static String storedId(String path) {
    int end = path.indexOf('/', STORED.length());
    return path.substring(STORED.length(), end < 0 ? path.length() : end);
  }

  /** Its path, the first of several; empty when it is no certain one. */
  public String path() {
    return paths.isEmpty() ? "" : paths.getFirst();
  }

  /** Its name in metrics and logs. */
  public String label() {
    return label;
  }

  /**
   * Whether its answers are generated token by token: they may be sampled, come as a stream if the request asks for
   * one, and such a stream ends with a terminator.
   */
  public boolean generates() {
    return kind == Kind.GENERATION;
  }

  /** Whether its requests carry a prompt that decides which worker suits them. */
  public boolean carriesPrompt() {
    return generates() || this == EMBEDDINGS;
  }

  /** Whether its requests must name their model. */
  public boolean requiresModel() {
    return kind == Kind.GENERATION || kind == Kind.MODEL;
  }

  /** Whether only POST makes sense. */
  public boolean postOnly() {
    return switch (kind) {
      case GENERATION, MODEL, HELPER -> true;
      case FORWARDED_JSON, FORWARDED, WEB_SOCKET -> false;
    };
  }

  /** Whether it is served on WebSockets only. */
  public boolean webSocketOnly() {
    return kind == Kind.WEB_SOCKET;
  }

  /** Whether the body of a request, where it has one, is a JSON object. */
  public boolean takesJson() {
    return kind != Kind.FORWARDED && kind != Kind.WEB_SOCKET;
  }

  /** Whether a request may be sent to another worker after one failed in the middle: it changes nothing. */
  public boolean isRetryable(String method) {
    return postOnly() || method.equals("GET") || method.equals("HEAD");
  }
}
