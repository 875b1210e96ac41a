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

  /** Over the handlers of the parts. */
  public AdminPaths(
      AdminHandler workers, ProfilesHandler profiles, FiguresHandler figures, DecisionsHandler decisions) {
    this.workers = workers;
    this.profiles = profiles;
    this.figures = figures;
    this.decisions = decisions;
  }

  @Override
  public Answer handle(Exchange exchange) {
    return exchange.path().startsWith(ProfilesHandler.PATH) ? profiles.handle(exchange)
        : exchange.path().startsWith(FiguresHandler.PATH) ? figures.handle(exchange)
        : exchange.path().startsWith(DecisionsHandler.PATH) ? decisions.handle(exchange)
        : workers.handle(exchange);
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return workers.failure(target, status, message);
  }
}
