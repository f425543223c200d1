// SPDX-License-Identifier: MIT
// containers - strings, vectors, maps and shared pointers: names with parameters
// and templates, frames that are inlined, blocks of many sizes and lives.  For
// tests/oracle.
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop {

struct Item {
  std::string name;
  std::vector<int> prices;
  explicit Item(int n) : name("an item with a long name, number " + std::to_string(n)) {
    for (int i = 0; i < n % 9; i++) prices.push_back(i);
  }
};

class Store {
 public:
  template <typename Key>
  void add(Key key, int n) {
    auto item = std::make_shared<Item>(n);
    items_[std::to_string(key)] = item;
    if (n % 4 == 0) recent_.push_back(item);
    if (recent_.size() > 5) recent_.pop_front();
  }

  size_t clear() {
    size_t count = items_.size();
    items_.clear();
    return count;
  }

 private:
  std::map<std::string, std::shared_ptr<Item>> items_;
  std::list<std::shared_ptr<Item>> recent_;
};

}  // namespace shop

int main() {
  auto *forgotten = new shop::Store;
  for (int turn = 0; turn < 2; turn++) {
    std::thread other([turn] {
      shop::Store store;
      for (int n = 0; n < 20; n++) store.add(n * 1000000000000L + turn, n);
    });
    shop::Store store;
    for (int n = 0; n < 30; n++) store.add(n, n);
    if (store.clear() != 30) return 1;
    other.join();
    for (int n = 0; n < 10; n++) forgotten->add(1.5 * n, turn);
  }
  return 0;
}
