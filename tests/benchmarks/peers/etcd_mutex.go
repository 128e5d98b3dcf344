// SPDX-License-Identifier: BSL-1.0
// A client, as serve.hpp describes it, of the mutex of etcd's client for Go: etcd_mutex KIND ADDRESS NAME TTL_MS
// The kind `floor` is a bare read.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"golang.org/x/sys/unix"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func now() int64 {
	var at unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &at))
	return at.Nano()
}

type lock struct {
	acquire, release func()
}

// The session, and with it the ttl, begins with the first grant.
func mutex(client *clientv3.Client, name string, ttl int) lock {
	var taken *concurrency.Mutex
	acquire := func() {
		if taken == nil {
			session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
			must(err)
			taken = concurrency.NewMutex(session, name)
		}
		must(taken.Lock(context.Background()))
	}
	return lock{acquire, func() { must(taken.Unlock(context.Background())) }}
}

func floor(client *clientv3.Client, name string) lock {
	read := func() {
		_, err := client.Get(context.Background(), name)
		must(err)
	}
	return lock{read, read}
}

func (l lock) pairs(times int) string {
	var took []string
	for i := 0; i < times; i++ {
		began := now()
		l.acquire()
		l.release()
		took = append(took, strconv.FormatInt(now()-began, 10))
	}
	return strings.Join(took, " ")
}

func (l lock) contend(milliseconds int) string {
	end := now() + int64(milliseconds)*1000000
	times, longest := 0, int64(0)
	for asked := now(); asked < end; asked = now() {
		l.acquire()
		got := now()
		if got < end {
			times++
		}
		if got-asked > longest {
			longest = got - asked
		}
		time.Sleep(time.Millisecond)
		l.release()
	}
	return fmt.Sprint(times, " ", longest)
}

func (l lock) answer(word string, number int) string {
	switch word {
	case "acquire":
		l.acquire()
		return fmt.Sprint(now())
	case "release":
		began := now()
		l.release()
		return fmt.Sprint(began)
	case "pairs":
		return l.pairs(number)
	case "contend":
		return l.contend(number)
	}
	log.Fatal("a client was told ", word)
	return ""
}

func main() {
	kind, address, name := os.Args[1], os.Args[2], os.Args[3]
	ttl, err := strconv.Atoi(os.Args[4])
	must(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	must(err)
	l := floor(client, name)
	if kind == "mutex" {
		l = mutex(client, name, ttl/1000)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number := 0
		if len(words) == 2 {
			number, err = strconv.Atoi(words[1])
			must(err)
		}
		fmt.Println(l.answer(words[0], number))
	}
}
