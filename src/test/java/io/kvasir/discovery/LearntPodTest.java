package io.kvasir.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.engines.CacheDescription;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.EventOrigin;
import io.kvasir.engines.EventPublishing;
import io.kvasir.engines.LoadPublishing;
import io.kvasir.engines.ServedModel;
import io.kvasir.engines.SurveyedEngine;
import java.net.URI;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class LearntPodTest {
  private static final EventPublishing.Zmq CHOSEN =
      new EventPublishing.Zmq(
          "tcp://10.0.0.1:41233", "tcp://10.0.0.1:41234", "kv", null, false,
          List.of(new EventPublishing.RankSockets("tcp://10.0.0.2:40007", null)));

  private static LearntPod pod(EventPublishing told, EventOrigin found) {
    EngineDescription engine =
        new EngineDescription(
            URI.create("http://10.0.0.1:8000"), new EngineIdentity(EngineKind.VLLM, "0.33.0", null, false, Set.of()),
            List.of(new ServedModel("m", null, null, null, null)),
            new CacheDescription(16, null, 2, null, null, null), told, new LoadPublishing.Untold(), null,
            List.of());
    return LearntPod.of(new SurveyedEngine("pod", engine, found));
  }

  @Test
  void endpointOfEachRank_isASetting() {
    assertThat(pod(CHOSEN, new EventOrigin.Announced(CHOSEN)).settings().path("events").toString())
        .isEqualTo("{\"endpoint\":\"tcp://10.0.0.1:41233\",\"replay\":\"tcp://10.0.0.1:41234\",\"topic\":\"kv\","
            + "\"other-ranks\":[{\"endpoint\":\"tcp://10.0.0.2:40007\"}]}");
  }

  /** A publisher that answers late this time has not ended its stream. */
  @Test
  void publisherThatWasFoundBefore_isKept_whereNobodyAnswersThisTime() {
    EventPublishing told = new EventPublishing.BoundOrDialled(CHOSEN);
    LearntPod found = pod(told, new EventOrigin.Announced(CHOSEN));
    LearntPod missed = pod(told, new EventOrigin.None("Nobody answers."));

    assertThat(missed.settings().has("events")).isFalse();
    assertThat(missed.after(found).settings()).isEqualTo(found.settings());
    assertThat(pod(new EventPublishing.Off(), new EventOrigin.None("None.")).after(found).settings().has("events"))
        .isFalse();
  }
}
