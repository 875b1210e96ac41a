package io.kvasir.gateway.admin;

import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;

/** {@code /admin}: hands each request to the handler of its path. Thread-safe. */
public final class AdminPaths implements Handler {
  private final AdminHandler workers;
  private final ProfilesHandler profiles;
  private final FiguresHandler figures;
  private final DecisionsHandler decisions;
  private final CacheHandler cache;

  /** Over the handlers of the parts. */
  public AdminPaths(
      AdminHandler workers,
      ProfilesHandler profiles,
      FiguresHandler figures,
      DecisionsHandler decisions,
      CacheHandler cache) {
    this.workers = workers;
    this.profiles = profiles;
    this.figures = figures;
    this.decisions = decisions;
    this.cache = cache;
  }

  @Override
  public Answer handle(Exchange exchange) {
    String path = exchange.path();
    return path.startsWith(ProfilesHandler.PATH) ? profiles.handle(exchange)
        : path.startsWith(FiguresHandler.PATH) ? figures.handle(exchange)
        : path.startsWith(DecisionsHandler.PATH) ? decisions.handle(exchange)
        : path.startsWith(CacheHandler.PATH) ? cache.handle(exchange)
        : workers.handle(exchange);
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return workers.failure(target, status, message);
  }
}
