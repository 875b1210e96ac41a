package io.kvasir.engines;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What SGLang's {@code /server_info} tells of where its load is published. */
final class LoadPublishingTest {
  private static LoadPublishing of(String page) {
    return SglangLoad.publishing(URI.create("http://engine:30000"), page.getBytes(UTF_8));
  }

  private static LoadPublishing zmq(String topic, String... endpoints) {
    return new LoadPublishing.Zmq(new LoadFeed(List.of(endpoints), topic));
  }

  @Test
  void ranks_haveSocketsInARow_atTheHostOfTheEngine() {
    assertThat(of("""
        {"kv_events":{"endpoint_host":"*","endpoint_port_base":5557,"dp_size":2,"load_endpoint_port_base":5559,
        "load_topic":"load"}}"""))
        .isEqualTo(zmq("load", "tcp://engine:5559", "tcp://engine:5560"));
  }

  @Test
  void rankThatIsAlone_hasOne() {
    assertThat(of("{\"kv_events\":{\"load_endpoint_port_base\":65535,\"load_topic\":\"load\"}}"))
        .isEqualTo(zmq("load", "tcp://engine:65535"));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "no page", "[]", "{}", "{\"kv_events\":null}", "{\"kv_events\":{\"endpoint_port_base\":5557}}",
    "{\"kv_events\":{\"load_endpoint_port_base\":null}}"
  })
  void pageWithoutAFeed_tellsOfNone(String page) {
    assertThat(of(page)).isEqualTo(new LoadPublishing.Untold());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "\"load_endpoint_port_base\":\"5558\"|names no port",
    "\"load_endpoint_port_base\":0|names no port",
    "\"load_endpoint_port_base\":65535,\"dp_size\":2|its 2 data-parallel ranks",
    "\"load_endpoint_port_base\":5558,\"dp_size\":1000000|1000000 data-parallel ranks, and a pod may have 256",
  })
  void feedThatCannotBeRead_isTold(String members, String reason) {
    assertThat(of("{\"kv_events\":{" + members + "}}"))
        .isInstanceOfSatisfying(LoadPublishing.Unusable.class, told -> assertThat(told.why()).contains(reason));
  }

  @Test
  void topic_isAsLongAsIsSubscribedTo() {
    String longest = "t".repeat(SglangLoad.MAX_TOPIC);
    assertThat(of(page(longest))).isEqualTo(zmq(longest, "tcp://engine:5558"));
    assertThat(of(page(longest + "t")))
        .isInstanceOfSatisfying(LoadPublishing.Unusable.class, told ->
            assertThat(told.why()).contains("a topic of 256 characters", "at most 255"));
  }

  private static String page(String topic) {
    return "{\"kv_events\":{\"load_endpoint_port_base\":5558,\"load_topic\":\"" + topic + "\"}}";
  }
}
