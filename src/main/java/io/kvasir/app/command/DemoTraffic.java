package io.kvasir.app.command;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.DemoHandler;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The demo's own traffic: conversations of several turns, some of which share their first prompt, sent to its gateway
 * at a rate that can be changed while it runs. Stopped until it is started. Thread-safe.
 */
final class DemoTraffic implements DemoHandler.Traffic, AutoCloseable {
  /** Requests at a time; while there are as many, no more are sent. */
  private static final int MOST_OPEN = 64;

  private static final int CONVERSATIONS = 24;
  private static final int MOST_TURNS = 8;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final List<String> ROLES =
      List.of(
          "You answer travellers who visit the north.", "You help with the accounts of a small bakery.",
          "You review changes to a program that steers ferries.", "You write letters for a city's archive.");

  private final URI chat;
  private final String model;
  private final HttpCalls http = new HttpCalls();
  private final Semaphore open = new Semaphore(MOST_OPEN);
  private final List<ArrayNode> conversations = new ArrayList<>();
  private final Random random = new Random(1);
  private final Thread sender;
  private boolean running;
  private double rate = 4;

  /** Traffic for a model at a gateway. */
  DemoTraffic(URI gateway, String model) {
    this.chat = gateway.resolve("/v1/chat/completions");
    this.model = model;
    for (int i = 0; i < CONVERSATIONS; i++) {
      conversations.add(conversation(i));
    }
    this.sender = Thread.ofVirtual().name("kvasir-demo-traffic").start(this::send);
  }

  @Override
  public synchronized boolean running() {
    return running;
  }

  @Override
  public synchronized double rate() {
    return rate;
  }

  @Override
  public synchronized void change(boolean run, double perSecond) {
    running = run;
    rate = perSecond;
    notifyAll();
  }

  /** Sends no more. Requests that are under way end with the gateway. */
  @Override
  public void close() {
    sender.interrupt();
    http.close();
  }

  private void send() {
    try {
      while (true) {
        awaitTurn();
        open.acquire();
        Thread.ofVirtual().name("kvasir-demo-request").start(this::sendTurn);
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits while it is stopped, and then for as long as lies between two requests. */
  private synchronized void awaitTurn() throws InterruptedException {
    do {
      while (!running) {
        wait();
      }
      wait(Math.max(1, (long) (TimeUnit.SECONDS.toMillis(1) / rate)));
    } while (!running);
  }

  private void sendTurn() {
    try {
      HttpCalls.Reply reply = http.send(HttpCalls.Request.post(chat, next(), TIMEOUT));
      if (reply.status() >= 500) {
        TimeUnit.SECONDS.sleep(1);
      }
    } catch (HttpCallException gone) {
      // The gateway refuses or stops; what it says is in its own figures.
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      open.release();
    }
  }

  /** The next turn of one of the conversations; one that is long enough begins again. */
  private synchronized byte[] next() {
    int which = random.nextInt(conversations.size());
    ArrayNode messages = conversations.get(which);
    if (messages.size() > 2 * MOST_TURNS) {
      messages = conversation(which);
      conversations.set(which, messages);
    }
    messages.addObject().put("role", "user").put("content", "Question " + messages.size() + ": " + words(20));
    ObjectNode body =
        JsonNodeFactory.instance.objectNode().put("model", model).put("max_tokens", 16).put("stream", true);
    body.set("messages", messages.deepCopy());
    messages.addObject().put("role", "assistant").put("content", words(16));
    return body.toString().getBytes(StandardCharsets.UTF_8);
  }

  private ArrayNode conversation(int which) {
    String role = ROLES.get(which % ROLES.size());
    ArrayNode messages = JsonNodeFactory.instance.arrayNode();
    messages.addObject().put("role", "system").put("content", (role + " Be brief and exact. ").repeat(12));
    return messages;
  }

  private String words(int count) {
    StringBuilder words = new StringBuilder();
    for (int i = 0; i < count; i++) {
      words.append(Integer.toString(random.nextInt(36 * 36 * 36), 36)).append(' ');
    }
    return words.toString();
  }
}
