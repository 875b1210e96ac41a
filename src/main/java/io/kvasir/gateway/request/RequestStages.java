package io.kvasir.gateway.request;

import io.kvasir.access.CacheSalts;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.cell.Cells;
import io.kvasir.locations.StoredResponses;
import io.kvasir.programs.ProgramReader;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.LiveProfiles;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a request passes before its decision: it is read, then prepared. Both have their turn at the processors.
 *
 * @param parser reads it
 * @param preparer prepares it
 */
public record RequestStages(RequestParser parser, RequestPreparer preparer) {
  /**
   * How requests are read and prepared.
   *
   * @param webSockets who may open them
   * @param programs reads what requests say of their programs; null when nobody needs it
   * @param admission how requests wait
   */
  public record Settings(WebSocketSettings webSockets, @Nullable ProgramReader programs, AdmissionSettings admission) {}

  /**
   * The stages over these rooms.
   *
   * @param salts the cache salts of isolated callers, null where no caller is isolated
   * @param late is given the name of a profile whose preparers went on without what they waited for
   */
  public static RequestStages of(
      Prompts prompts,
      LiveProfiles profiles,
      @Nullable CacheSalts salts,
      Cells cells,
      StoredResponses stored,
      Settings settings,
      Consumer<String> late) {
    PreparationPermits permits = new PreparationPermits(prompts.limiter());
    RequestParser parser =
        new RequestParser(
            permits,
            new ProfileResolver(profiles, late),
            new CallerIsolation(salts, new PromptConversion(prompts)),
            cells,
            stored,
            settings.webSockets());
    RequestPreparer preparer =
        new RequestPreparer(prompts, permits, cells, settings.programs(), new Claims(settings.admission()));
    return new RequestStages(parser, preparer);
  }
}
