package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.Caller;
import io.kvasir.cell.Cells;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.body.RequestOutline;
import io.kvasir.gateway.body.RequestReader;
import io.kvasir.gateway.body.UnreadBody;
import io.kvasir.gateway.body.UnreadBodyException;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.DropReason;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.gateway.error.GateRefusal.Gate;
import io.kvasir.gateway.forwarding.ForwardedRequest;
import io.kvasir.http.ApiPath;
import io.kvasir.http.server.ContentCoding;
import io.kvasir.http.server.Exchange;
import io.kvasir.locations.StoredResponses;
import io.kvasir.locations.WorkerLocation;
import io.kvasir.prompt.PreparationLimiter.Permit;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads what clients and proxies sent: which model it is for and by which profile, what of it a worker gets, and what
 * its caller may not do. Thread-safe.
 */
public final class RequestParser {
  private final RequestReader reader = new RequestReader();
  private final PreparationPermits permits;
  private final ProfileResolver profiles;
  private final CallerIsolation isolation;
  private final Cells cells;
  private final StoredResponses stored;
  private final WebSocketSettings webSockets;
  private final NamedAdapter adapters;

  RequestParser(
      PreparationPermits permits, ProfileResolver profiles, CallerIsolation isolation, Cells cells,
      StoredResponses stored, WebSocketSettings webSockets) {
    this.permits = permits;
    this.profiles = profiles;
    this.isolation = isolation;
    this.cells = cells;
    this.stored = stored;
    this.webSockets = webSockets;
    this.adapters = new NamedAdapter(cells);
  }

  /** Reads a request to an API, whose path may be another than the one it came by. */
  public ParsedRequest read(ApiPath api, String path, InboundRequest inbound)
      throws ApiException, InterruptedException {
    Caller caller = inbound.caller();
    Exchange exchange = inbound.exchange();
    if (!caller.grants().allowsApi(api.label())) {
      throw new ApiException(ApiError.forbidden("This key may not use %s, but %s.".formatted(
          path, String.join(", ", new TreeSet<>(caller.grants().apis())))));
    }
    try (Permit _ = permits.acquire(exchange, exchange.cancellation())) {
      return inbound.handover() == null ? parse(api, path, inbound) : parseProxied(api, path, inbound);
    }
  }

  /**
   * A proxy's request is for its workers to judge: where it is not what its API wants, it is read like one to an
   * unknown API, and where it cannot be read at all, it is placed by what its outline shows. Only a caller with models
   * or blocks of its own is refused then, as nobody knows what the request would do.
   */
  private ParsedRequest parseProxied(ApiPath api, String path, InboundRequest inbound) throws ApiException {
    Exchange exchange = inbound.exchange();
    try {
      if (exchange.body().length > 0 && ContentCoding.of(exchange.headers()) != ContentCoding.IDENTITY) {
        throw new UnreadBodyException(UnreadBody.CODING, ApiError.of(400, "unsupported_encoding",
            "The request body cannot be read by its Content-Encoding. Send it in gzip, deflate or plain."));
      }
      return parse(api, path, inbound);
    } catch (UnreadBodyException unfit) {
      if (inbound.caller().cacheGroup() != null) {
        throw atPicker(unfit);
      }
      return unfit.why().isReadable() && api != ApiPath.OTHER
          ? parseProxied(ApiPath.OTHER, path, inbound).unread(unfit.why())
          : outlined(api, path, inbound, unfit);
    }
  }

  private ParsedRequest outlined(ApiPath api, String path, InboundRequest inbound, UnreadBodyException unreadable)
      throws ApiException {
    Exchange exchange = inbound.exchange();
    if (!inbound.caller().grants().models().isEmpty()) {
      throw atPicker(unreadable);
    }
    RequestOutline outline = RequestOutline.of(exchange.body());
    RequestOutline.NamedModel named = outline.model();
    ApiRequest request = new ApiRequest(named == null ? null : named.name(), outline.stream(), null, null);
    String model = named == null ? anyModel(inbound.caller()) : named.name();
    return parsed(
        api, request, location(api, path, request, inbound.caller()), model, inbound,
        new ForwardedRequest(exchange.target(), exchange.body(), null)).unread(unreadable.why());
  }

  /** The refusal of a request that came to the picker. */
  private static ApiException atPicker(UnreadBodyException refused) {
    GateRefusal gate = refused.error().refusal();
    return gate == null ? refused : new ApiException(refused.error().refusedBy(gate.atPicker()));
  }

  private ParsedRequest parse(ApiPath api, String path, InboundRequest inbound) throws ApiException {
    Caller caller = inbound.caller();
    Exchange exchange = inbound.exchange();
    ApiRequest request =
        WebSocketRequest.matches(api, inbound)
            ? new ApiRequest(webSocketModel(exchange), false, null, null)
            : reader.read(api, exchange.headers(), exchange.body(), exchange.memory());
    String adapter = adapters.of(request);
    byte[] body = exchange.body();
    if (adapter != null && inbound.handover() == null) {
      body = NamedAdapter.asModel(api, body, adapter);
      request = reader.read(api, exchange.headers(), body, exchange.memory());
    }
    isolation.check(caller, request, body);
    WorkerLocation location = location(api, path, request, caller);
    String model = adapter != null ? adapter
        : request.model() != null ? request.model()
        : location != null ? location.model()
        : anyModel(caller);
    checkModels(caller, model, request);
    Translation translation =
        request.body() instanceof ObjectNode tree ? isolation.translation(caller, api, body, tree, model) : null;
    if (translation != null) {
      byte[] chat = translation.request().bytes();
      ApiRequest translated = reader.read(ApiPath.CHAT, exchange.headers(), chat, exchange.memory());
      return parsed(ApiPath.CHAT, translated, location, model, inbound,
          new ForwardedRequest(ApiPath.CHAT.path(), chat, translation));
    }
    return parsed(api, request, location, model, inbound, new ForwardedRequest(exchange.target(), body, null));
  }

  private static void checkModels(Caller caller, String model, ApiRequest request) throws ApiException {
    Optional<String> notAllowed =
        Stream.concat(Stream.of(model), NamedAdapter.namedBeside(request))
            .filter(name -> !caller.grants().allowsModel(name))
            .findFirst();
    if (notAllowed.isPresent()) {
      // As one that does not exist: what there is for other callers is theirs to know.
      throw new ApiException(ApiError.unknownModel(notAllowed.get()));
    }
  }

  private @Nullable String webSocketModel(Exchange exchange) throws ApiException {
    String named = WebSocketRequest.model(exchange.target());
    return named == null ? webSockets.model() : named;
  }

  private ParsedRequest parsed(
      ApiPath api, ApiRequest request, @Nullable WorkerLocation location, String model,
      InboundRequest inbound, ForwardedRequest forwarded)
      throws ApiException {
    CallerIsolation.Salt salt = isolation.isolate(inbound.caller(), api, request);
    RequestContext context = profiles.resolve(api, inbound, request, model);
    return new ParsedRequest(
        api, request, location, model, context, salt == null ? forwarded : forwarded.with(salt.in(forwarded.body())));
  }

  private @Nullable WorkerLocation location(
      ApiPath api, String path, ApiRequest request, Caller caller) throws ApiException {
    String id = api == ApiPath.STORED_RESPONSE ? ApiPath.storedId(path) : request.previousResponse();
    WorkerLocation location = id == null ? null : stored.find(id);
    if (location != null && !location.tenant().equals(caller.tenant())) {
      throw new ApiException(
          new ApiError(404, "There is no response '%s'.".formatted(id), "id", "response_not_found", null, 0, null));
    }
    return location;
  }

  /** Requests that name no model go to the only one, or to the first by name. */
  private String anyModel(Caller caller) throws ApiException {
    Set<String> models = cells.models();
    if (models.isEmpty()) {
      throw new ApiException(
          ApiError.of(503, "no_workers", "No worker serves any model yet. Try again shortly.")
              .retryAfter(5)
              .refusedBy(
                  GateRefusal.of(Gate.WORKERS, "pods", new GateRefusal.Measure(0, 1, "workers"))
                      .dropping(DropReason.NO_ENDPOINTS)));
    }
    return models.stream().filter(caller.grants()::allowsModel).min(Comparator.naturalOrder()).orElseThrow(
        () -> new ApiException(ApiError.forbidden("This key may use none of the models that are served.")));
  }
}
